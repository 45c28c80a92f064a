import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { crashAt } from "../../support/crash-at.ts";
import { racedD1, wrapD1 } from "../../support/d1.ts";
import { sweep } from "../../support/effort.ts";
import {
  createRegistrySource,
  metadataOf,
  registryLeft,
  runJob,
  settleRegistry,
  V2,
} from "../../support/registry/registry-sync.ts";

let chain: TestChain;
let expected: unknown;

const job = (sourceId: string) => ({ kind: "sync", network: "Preprod", sourceId }) as const;

async function freshSource(): Promise<string> {
  await emptyTables();
  return createRegistrySource(chain, V2);
}

beforeEach(async () => {
  chain = await TestChain.create();
  const mint = (as: string) => ({ do: "mint", as, version: V2, metadata: metadataOf(as) });
  await chain.act([
    mint("a"),
    { ...mint("b"), metadata: metadataOf("b", { author: {} }) },
    { do: "burn", on: "a" },
    { do: "mintAll", version: V2, tokens: [{ metadata: metadataOf("c") }], burns: ["b"] },
  ]);
  const source = await freshSource();
  await settleRegistry(chain, source);
  expected = await registryLeft(source);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

describe("a registry sync stopped at any awaited step and started again", () => {
  it.each(["before", "after"] as const)(
    "ends with the same entries and cursor (stopped %s the step)",
    async (when) => {
      const counting = crashAt(Number.POSITIVE_INFINITY, when);
      vi.stubGlobal("fetch", counting.fetch);
      await runJob(job(await freshSource()), chain.url, counting.overrides);
      vi.unstubAllGlobals();
      expect(counting.count()).toBeGreaterThanOrEqual(20);

      for (const k of sweep(27, counting.count())) {
        const source = await freshSource();
        const dying = crashAt(k, when);
        vi.stubGlobal("fetch", dying.fetch);
        await runJob(job(source), chain.url, dying.overrides).catch(() => "died outside its care");
        vi.unstubAllGlobals();
        await settleRegistry(chain, source);
        expect(await registryLeft(source), `stopped at step ${k}`).toEqual(expected);
      }
    },
  );
});

it("a batch that lands again, late, is refused and changes nothing", async () => {
  const source = await freshSource();
  const refusals: string[] = [];
  const twice = wrapD1(env.DB, async (call, run) => {
    const result = await run();
    if (call.kind === "batch" && call.sql[0]?.includes("last_op"))
      await run().catch((error: unknown) => refusals.push(String(error)));
    return result;
  });
  await settleRegistry(chain, source, { env: { DB: twice } });
  expect(refusals).toEqual([expect.stringContaining("registry_cursor.version")]);
  expect(await registryLeft(source)).toEqual(expected);
});

it("a pass that another one overtakes writes nothing, reads again, and comes to the same end", async () => {
  const source = await freshSource();
  let overtaken = 0;
  const racing = wrapD1(env.DB, async (call, run) => {
    if (call.kind === "batch" && call.sql[0]?.includes("last_op") && overtaken++ < 2)
      await env.DB.prepare("UPDATE registry_cursor SET version = version + 1").run();
    return run();
  });
  await settleRegistry(chain, source, { env: { DB: racing } });
  expect(overtaken).toBe(3);
  expect(await registryLeft(source)).toEqual(expected);
});

describe("a registry sync whose batch loses an entry to another writer", () => {
  /** An entry that a run found, and its burn, which the next one will. */
  async function burnAhead(): Promise<string> {
    chain = await TestChain.create();
    const source = await freshSource();
    await chain.act([{ do: "mint", as: "a", version: V2, metadata: metadataOf("a") }]);
    await settleRegistry(chain, source);
    await chain.act([{ do: "burn", on: "a" }]);
    await chain.stats();
    return source;
  }
  const raced = (times: number) =>
    racedD1(
      env.DB,
      "UPDATE registry_cursor SET version",
      times,
      "UPDATE registry_entry SET revision = revision + 1",
    );
  const status = () => env.DB.prepare("SELECT status FROM registry_entry").first("status");

  it("folds what it has read anew, and asks the provider nothing again", async () => {
    const undisturbed = await burnAhead();
    expect(await runJob(job(undisturbed), chain.url)).toBeNull();
    const { calls } = await chain.stats();

    const source = await burnAhead();
    const { d1, lost } = raced(3);
    expect(await runJob(job(source), chain.url, { env: { DB: d1 } })).toBeNull();
    expect(lost()).toBe(3);
    expect((await chain.stats()).calls).toEqual(calls);
    expect(await status()).toBe("Deregistered");
  });

  it("that always wins leaves the rest to a later run, and nothing half done", async () => {
    const source = await burnAhead();
    const { d1, lost } = raced(Number.POSITIVE_INFINITY);
    const begun = Date.now();
    const again = await runJob(job(source), chain.url, { env: { DB: d1 } });
    expect(again).toBeGreaterThanOrEqual(begun + 1_000);
    expect(lost()).toBeLessThan(10);
    expect((await chain.stats()).calls["GET /txs/{hash}/cbor"]).toBe(1);
    expect(await status()).not.toBe("Deregistered");
    await settleRegistry(chain, source);
    expect(await status()).toBe("Deregistered");
  });
});
