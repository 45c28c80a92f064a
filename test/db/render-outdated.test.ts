import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { openDb } from "../../src/db/client.ts";
import { DOC_VERSION } from "../../src/escrow/store/render-record.ts";
import worker from "../../src/worker.ts";
import { emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { wrapD1 } from "../support/d1.ts";
import { ASLEEP } from "../support/objects.ts";
import {
  createRegistrySource,
  metadataOf,
  settleRegistry,
} from "../support/registry/registry-sync.ts";
import { lockMany } from "../support/sources/backfill.ts";
import { createSource, settle } from "../support/sources/sync.ts";

/** More than two batches of the job. */
const LOCKS = 60;

const version = "Web3ChainV1";
/** Fires the cron; the objects that it wakes do nothing. */
function fire(DB: D1Database = env.DB): Promise<void> {
  const bindings = { ...env, ...ASLEEP, DB };
  return worker.scheduled(createScheduledController(), bindings);
}

/** Every payment, purchase and registry entry, whole. */
async function rows(): Promise<unknown[]> {
  return [
    ...(await openDb(env).all("SELECT * FROM escrow ORDER BY id")),
    ...(await openDb(env).all("SELECT * FROM escrow_open ORDER BY id")),
    ...(await openDb(env).all("SELECT * FROM registry_entry ORDER BY id")),
  ];
}

async function outdated(): Promise<number> {
  const [row] = await openDb(env).all<{ n: number }>(
    `SELECT (SELECT count(*) FROM escrow_open WHERE doc_version = 0) +
       (SELECT count(*) FROM registry_entry WHERE doc_version = 0) AS n`,
  );
  return row?.n ?? 0;
}

/** Makes every document one of an older version, as a deployment that raises it finds them. */
async function age(): Promise<void> {
  await env.DB.prepare("UPDATE escrow_open SET doc_version = 0, doc = '{}'").run();
  await env.DB.prepare("UPDATE registry_entry SET doc_version = 0, doc = '{}'").run();
}

beforeEach(async () => {
  await emptyTables();
  const chain = await TestChain.create();
  const source = await createSource(chain, version);
  const registry = await createRegistrySource(chain);
  await chain.act([
    ...lockMany("a", LOCKS),
    ...["x", "y"].map((as) => ({ do: "mint", as, version, metadata: metadataOf(as) })),
  ]);
  await settle(chain, source);
  await settleRegistry(chain, registry);
});

const isRendering = (sql: string[]) => sql.some((one) => /^UPDATE \w+ SET doc = /.test(one));

describe("documents of an older version", () => {
  test("are rendered anew by the cron, and nothing else of their records changes", async () => {
    const before = await rows();
    await age();
    const info = vi.spyOn(console, "info");
    await fire();
    expect(await rows()).toEqual(before);
    const lines = info.mock.calls.map(([line]) => JSON.parse(String(line)));
    info.mockRestore();
    expect(lines.filter(({ event }) => event === "records.rendered")).toMatchObject([
      { table: "escrow_open", network: "Preprod", rendered: LOCKS * 2 },
      { table: "registry_entry", network: "Preprod", rendered: 2 },
      { table: "escrow_open", network: "Mainnet", rendered: 0 },
      { table: "registry_entry", network: "Mainnet", rendered: 0 },
    ]);
  });

  test("are all rendered in the end, though every run stops in its middle", async () => {
    const before = await rows();
    await age();
    const left: number[] = [];
    while ((await outdated()) > 0 && left.length < 10) {
      let batches = 0;
      await fire(
        wrapD1(env.DB, async ({ sql }, run) => {
          if (isRendering(sql) && ++batches > 1) throw new Error("stopped here");
          return run();
        }),
      );
      left.push(await outdated());
    }
    expect(left).toEqual([72, 22, 2, 0]);
    expect(await rows()).toEqual(before);
  });

  test("leave a record that is changed meanwhile as it was changed", async () => {
    await age();
    const change = `UPDATE escrow_open SET revision = revision + 1, doc = 'newer', doc_version = ${DOC_VERSION}`;
    const d1 = wrapD1(env.DB, async ({ sql }, run) => {
      if (isRendering(sql) && (await outdated()) === LOCKS * 2 + 2) await env.DB.exec(change);
      return run();
    });
    await fire(d1);
    expect(await openDb(env).all("SELECT DISTINCT doc, doc_version FROM escrow_open")).toEqual([
      { doc: "newer", doc_version: DOC_VERSION },
    ]);
    expect(await outdated()).toBe(0);
  });

  test("cost a run that finds none a look at the jobs alone", async () => {
    await age();
    await fire();
    const asked: string[] = [];
    await fire(
      wrapD1(env.DB, async ({ sql }, run) => {
        asked.push(...sql);
        return run();
      }),
    );
    expect(asked.filter((sql) => sql.includes("doc_version"))).toEqual([]);
  });
});
