import { env } from "cloudflare:workers";

/** The three archives of the tests, as a deployment binds them. */
export const ARCHIVES = {
  ARCHIVE_1: env.ARCHIVE_1,
  ARCHIVE_2: env.TEST_ARCHIVE_2,
  ARCHIVE_3: env.TEST_ARCHIVE_3,
};

/** The bindings of a deployment without archives. */
export const NO_ARCHIVES = { ARCHIVE_1: undefined };

/** An archive that nothing may ask. */
export const UNASKED_ARCHIVE = new Proxy(env.ARCHIVE_1, {
  get: () => {
    throw new Error("the archive is asked");
  },
});

/** The tables of an archive. */
export const ARCHIVE_TABLES = [
  "archive_operation",
  "escrow",
  "escrow_transaction",
  "escrow_action",
  "escrow_request",
  "x402_payment_attempt",
  "x402_settlement",
  "audit",
];

export async function emptyArchives(): Promise<void> {
  await Promise.all(
    Object.values(ARCHIVES).map((archive) =>
      archive.batch(ARCHIVE_TABLES.map((table) => archive.prepare(`DELETE FROM ${table}`))),
    ),
  );
}

/** All rows of an archive, by table. */
export async function readArchive(archive: D1Database): Promise<Record<string, unknown[]>> {
  const read = await archive.batch(
    ARCHIVE_TABLES.map((table) => archive.prepare(`SELECT * FROM ${table}`)),
  );
  return Object.fromEntries(ARCHIVE_TABLES.map((table, i) => [table, read[i]?.results ?? []]));
}

/** As the chain leaves records once no rollback reaches them. */
export async function makeFinal(): Promise<void> {
  await env.DB.prepare("DELETE FROM escrow_undo").run();
}
