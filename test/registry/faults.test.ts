import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { wrapD1 } from "../support/d1.ts";
import { dyingAt } from "../support/dying.ts";
import {
  createRegistrySource,
  metadataOf,
  registryLeft,
  runJob,
  settleRegistry,
  V1,
} from "../support/registry.ts";

let chain: TestChain;
let expected: unknown;

const job = (sourceId: string) => ({ kind: "sync", network: "Preprod", sourceId }) as const;

async function freshSource(): Promise<string> {
  await emptyTables();
  return createRegistrySource(chain);
}

beforeEach(async () => {
  chain = await TestChain.create();
  const mint = (as: string) => ({ do: "mint", as, version: V1, metadata: metadataOf(as) });
  await chain.act([
    mint("a"),
    { ...mint("b"), metadata: metadataOf("b", { author: {} }) },
    { do: "burn", on: "a" },
    { do: "mintAll", version: V1, tokens: [{ metadata: metadataOf("c") }], burns: ["b"] },
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
      const counting = dyingAt(Number.POSITIVE_INFINITY, when);
      vi.stubGlobal("fetch", counting.fetch);
      await runJob(job(await freshSource()), chain.url, counting.overrides);
      vi.unstubAllGlobals();
      expect(counting.count()).toBeGreaterThanOrEqual(20);

      for (let k = 1; k <= counting.count(); k++) {
        const source = await freshSource();
        const dying = dyingAt(k, when);
        vi.stubGlobal("fetch", dying.fetch);
        await runJob(job(source), chain.url, dying.overrides).catch(() => "died outside its care");
        vi.unstubAllGlobals();
        await settleRegistry(chain, source);
        expect(await registryLeft(source), `stopped at step ${k}`).toEqual(expected);
      }
    },
    60_000,
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
