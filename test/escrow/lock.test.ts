import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { db } from "../../src/db/client.ts";
import { emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { createRegistrySource, metadataOf, settleRegistry } from "../support/registry.ts";
import { createSource, parseDoc, settle } from "../support/sync.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";

const lock = (as: string, version: string = V1) => ({ do: "lock", as, version });

beforeEach(emptyTables);

describe("a lock", () => {
  it("is priced as its agent's registration says, if that is known", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const registry = await createRegistrySource(chain);
    const metadata = metadataOf("agent", { agentPricing: { pricingType: "Dynamic" } });
    const [minted] = await chain.act([{ do: "mint", as: "agent", version: V1, metadata }]);
    await settleRegistry(chain, registry);
    await chain.act([{ ...lock("a"), agentIdentifier: minted?.unit }, lock("b")]);
    await settle(chain, source);
    const rows = await db(env).all<{ doc: string }>("SELECT doc FROM escrow");
    const priced = rows.map(({ doc }) => {
      const { agentIdentifier, pricingType } = parseDoc(doc);
      return [agentIdentifier === minted?.unit, pricingType];
    });
    expect(priced.sort()).toEqual([
      [false, "Fixed"],
      [false, "Fixed"],
      [true, "Dynamic"],
      [true, "Dynamic"],
    ]);
  });

  it("beside a step of another contract costs the buyer its fee", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    await chain.act([lock("other", V2)]);
    const [together] = await chain.act([
      {
        do: "actAll",
        moves: [{ on: "other", action: "requestRefund" }],
        orders: [{ as: "a", version: V1 }],
      },
    ]);
    await settle(chain, source);
    const rows = await db(env).all<{ doc: string; fees: string }>(
      "SELECT doc, state->>'$.transaction.fees' AS fees FROM escrow",
    );
    expect(rows).toHaveLength(2);
    expect(together?.escrows).toHaveLength(2);
    for (const { doc, fees } of rows)
      expect(parseDoc(doc)).toMatchObject({ totalBuyerChainFees: Number(fees) / 1_000_000 });
  });

  it("that is ignored counts towards the end of a batch: none checks hundreds of them", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const forged = { version: V1, datum: { inputHash: "cd".repeat(32) } };
    await chain.act(
      Array.from({ length: 12 }, () => ({ do: "lockAll", orders: Array(10).fill(forged) })),
    );
    await settle(chain, source);
    const [cursor] = await db(env).all<{ ignored: number; version: number }>(
      "SELECT ignored_locks AS ignored, version FROM source_cursor",
    );
    expect(cursor?.ignored).toBe(120);
    expect(cursor?.version).toBeGreaterThan(1);
  });
});
