import { NETWORKS, type Network } from "../chain/network.ts";
import { log } from "../log.ts";
import { type Database, openDb, statement } from "./client.ts";

/** Documents that a table keeps, and how each is rendered from its row. */
export interface DocumentTable {
  /** Has `id`, `network`, `revision`, `doc` and `doc_version`. */
  table: string;
  /** Version of `render`: raised whenever its text changes. */
  version: number;
  /** SQL of all that a document is rendered from. */
  row: string;
  /** @param row - the value of that SQL */
  render(row: string): string;
}

/** Rows looked through per batch. */
const BATCH_SIZE = 50;
/** Passes over a table: an isolate that was started before may write some older documents yet. */
const MAX_PASSES = 2;
/** From the end of one pass to the next. */
const PASS_INTERVAL_MS = 60 * 60_000;

/** How far the job came with a table's documents of a network: `subject` of its row in `job`. */
interface RenderProgress {
  version: number;
  /** Passes over the whole table that are done. */
  passes: number;
  /** The last row of the pass under way that is done; null between passes. */
  after: string | null;
  /** Documents rendered in the pass under way. */
  rendered: number;
}

/**
 * Renders again, in the order of their ids, the documents that an older version rendered. Each batch
 * stores its progress together with its documents. A run may therefore stop anywhere, overlap another
 * run, and continue with the next one. Only documents change: stamps stay, no event is sent, and a row
 * that another writer changed meanwhile keeps that writer's text. A document never returns to an older
 * version. Two versions that run side by side do not undo each other's work.
 *
 * @param now - epoch milliseconds
 * @param deadline - epoch milliseconds after which no further batch is begun
 */
export async function renderOutdatedDocuments(
  env: { DB: D1Database },
  kinds: readonly DocumentTable[],
  now: number,
  deadline: number,
): Promise<void> {
  for (const network of NETWORKS) {
    const database = openDb(env, network, { writes: "idempotent", deadline: deadline + 10_000 });
    const jobs = await readRenderJobs(database);
    for (const documents of kinds)
      await renderTable(database, network, documents, jobs, now, deadline);
  }
}

interface JobRow {
  name: string;
  subject: string;
  doneAt: number;
}

async function readRenderJobs(database: Database): Promise<Map<string, JobRow>> {
  const rows = await database.all<JobRow>(
    "SELECT name, subject, done_at AS doneAt FROM job WHERE name >= 'render:' AND name < 'render;'",
  );
  return new Map(rows.map((row) => [row.name, row]));
}

async function renderTable(
  database: Database,
  network: Network,
  documents: DocumentTable,
  jobs: Map<string, JobRow>,
  now: number,
  deadline: number,
): Promise<void> {
  const { table, version } = documents;
  const name = `render:${table}:${network}`;
  const known = jobs.get(name);
  let written = known?.subject ?? null;
  let at: RenderProgress =
    written === null ? createProgress(version) : (JSON.parse(written) as RenderProgress);
  if (at.version < version) at = createProgress(version);
  if (at.version > version || at.passes === MAX_PASSES) return;
  if (known && at.after === null && at.passes > 0 && now - known.doneAt < PASS_INTERVAL_MS) return;

  for (let done = false; !done && Date.now() < deadline; ) {
    const rows = await loadNextRows(database, network, documents, at.after ?? "");
    const outdated = rows.filter((row) => row.outdated !== null);
    const last = rows.at(-1);
    done = rows.length < BATCH_SIZE;
    const rendered = at.rendered + outdated.length;
    at =
      done || !last
        ? { version, passes: at.passes + 1, after: null, rendered: 0 }
        : { ...at, after: last.id, rendered };
    const subject = JSON.stringify(at);
    await database.batch([
      ...outdated.map(({ id, revision, outdated: row }) =>
        statement(
          `UPDATE ${table} SET doc = ?, doc_version = ? WHERE id = ? AND revision = ?`,
          documents.render(row ?? "[]"),
          version,
          id,
          revision,
        ),
      ),
      // A run that was overtaken does not take the other back.
      statement(
        `INSERT INTO job (name, subject, done_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (name) DO UPDATE SET subject = excluded.subject, done_at = excluded.done_at
         WHERE job.subject = ?4`,
        name,
        subject,
        now,
        written,
      ),
    ]);
    written = subject;
    if (done) log("info", "records.rendered", { table, network, version, rendered });
  }
}

function createProgress(version: number): RenderProgress {
  return { version, passes: 0, after: null, rendered: 0 };
}

/** The rows after one; `outdated` is null of those whose document is of this version or a later. */
function loadNextRows(
  database: Database,
  network: Network,
  { table, version, row }: DocumentTable,
  after: string,
): Promise<{ id: string; revision: number; outdated: string | null }[]> {
  return database.all(
    `SELECT id, revision, iif(doc_version < ?, ${row}, NULL) AS outdated
     FROM ${table} WHERE network = ? AND id > ? ORDER BY id LIMIT ${BATCH_SIZE}`,
    version,
    network,
    after,
  );
}
