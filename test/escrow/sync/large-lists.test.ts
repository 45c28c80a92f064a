import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { moveCursor } from "../../../src/sources/cursor.ts";
import { emptyTables } from "../../support/app.ts";
import { type StepResult, TestChain } from "../../support/chain.ts";
import { createSource, settle } from "../../support/sources/sync.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";
/** A transaction of 16 KB refers to some 400 outputs, of 5 KB of tokens each, for a single fee. */
const TOO_LARGE = `{"inputs":"${"x".repeat(5 * 1024 * 1024)}"}`;

/** Has the provider's list of what each transaction spends, refers to and makes be larger than any answer that is read. */
function largeLists(): void {
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", async (...args: Parameters<typeof fetch>) => {
    const { pathname } = new URL(new Request(...args).url);
    return /\/txs\/[0-9a-f]+\/utxos$/.test(pathname) ? new Response(TOO_LARGE) : fetch(...args);
  });
}

interface Listed {
  block: string;
  block_height: number;
  block_time: number;
  index: number;
}

async function statesOf(step: StepResult | undefined): Promise<(string | null)[]> {
  const rows = await openDb(env).all<{ state: string | null }>(
    "SELECT on_chain_state AS state FROM escrow WHERE blockchain_identifier = unhex(?) ORDER BY side",
    step?.escrows[0]?.identifier ?? "",
  );
  return rows.map(({ state }) => state);
}

beforeEach(emptyTables);
afterEach(() => {
  vi.unstubAllGlobals();
});

describe("transactions that refer to many large outputs", () => {
  it.each([V1, V2] as const)("stop no source of %s: it reads their own bytes", async (version) => {
    const chain = await TestChain.create();
    const source = await createSource(chain, version);
    const other = version === V1 ? V2 : V1;
    const [, , locked] = await chain.act([
      { do: "lock", as: "other", version: other },
      {
        do: "actAll",
        moves: [{ on: "other", action: "requestRefund" }],
        orders: [{ as: "beside", version }],
      },
      { do: "lock", as: "a", version },
      { do: "submitResult", on: "a" },
      { do: "requestRefund", on: "a" },
      { do: "withdrawDisputed", on: "a" },
    ]);
    largeLists();
    await settle(chain, source);
    const rows = await openDb(env).all("SELECT 1 FROM escrow WHERE on_chain_state = 'FundsLocked'");
    expect(rows).toHaveLength(2);
    expect(await statesOf(locked)).toEqual(["DisputedWithdrawn", "DisputedWithdrawn"]);
  });

  it("stop no source that goes on behind transactions that it has not read", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const [locked] = await chain.act([{ do: "lock", as: "a", version: V1 }]);
    await settle(chain, source);
    const skipped = await chain.act([
      { do: "submitResult", on: "a" },
      { do: "requestRefund", on: "a" },
    ]);
    const hash = skipped.at(-1)?.txHash ?? "";
    const tx = await chain.get<Listed>(`/txs/${hash}`);
    await openDb(env).batch(
      moveCursor(source, {
        hash,
        blockHash: tx.block,
        blockHeight: tx.block_height,
        txIndex: tx.index,
        blockTime: tx.block_time,
        validContract: true,
      }),
    );
    await chain.act([{ do: "withdrawDisputed", on: "a" }]);
    largeLists();
    await settle(chain, source);
    expect(await statesOf(locked)).toEqual(["DisputedWithdrawn", "DisputedWithdrawn"]);
  });
});

describe("a lock", () => {
  it("costs the provider one call, and a step none but its own", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    await chain.act([
      { do: "lock", as: "a", version: V1 },
      { do: "submitResult", on: "a" },
    ]);
    await chain.stats();
    await settle(chain, source);
    const { calls } = await chain.stats();
    expect(calls["GET /txs/{hash}/cbor"]).toBe(2);
    expect(calls["GET /txs/{hash}/utxos"]).toBeUndefined();
  });
});
