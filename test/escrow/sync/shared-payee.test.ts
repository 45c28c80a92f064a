import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import {
  DOC_OR_ROW_SQL,
  type StoredDocument,
} from "../../../src/escrow/store/outdated-documents.ts";
import { emptyTables } from "../../support/app.ts";
import { type StepResult, TestChain } from "../../support/chain.ts";
import { createSource, parseDoc, settle } from "../../support/sources/sync.ts";

const V2 = "Web3ChainV2";
const act = (on: string, action: string, more = {}) => ({ do: action, on, ...more });
const native = (amount: string) => [{ amount, unit: "" }];

beforeEach(emptyTables);

/** What both records of an escrow say that each side and the contract received in the end. */
async function settledOf(step: StepResult | undefined): Promise<unknown[]> {
  const rows = await openDb(env).all<StoredDocument>(
    `SELECT ${DOC_OR_ROW_SQL} FROM escrow AS page WHERE blockchain_identifier = unhex(?) ORDER BY side`,
    step?.escrows[0]?.identifier ?? "",
  );
  return rows.map((row) => parseDoc(row).Settled);
}

describe("between parties of Web3ChainV2 that are paid at one address", () => {
  it.each([
    ["a treasury of both", { buyerReturnAddress: "stranger", sellerReturnAddress: "stranger" }],
    ["the seller's own, which a buyer has named", { buyerReturnAddress: "seller-0" }],
    ["the buyer's own, which a seller has named", { sellerReturnAddress: "buyer-0" }],
  ])("%s, each has its part of what is paid there", async (_, names) => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V2);
    const { wallets } = await chain.wallets();
    const addresses = Object.fromEntries(
      Object.entries(names).map(([field, name]) => [
        field,
        wallets.find((one) => one.name === name)?.address,
      ]),
    );
    const lock = (as: string) => ({
      ...{ do: "lock", as, version: V2, collateral: "2000000", ...addresses },
      funds: [{ unit: "", amount: "10000000" }],
    });
    const disputed = ["a", "b"];
    const [a, b, withdrawn] = await chain.act([
      ...[...disputed, "withdrawn"].map(lock),
      ...[...disputed, "withdrawn"].map((on) => act(on, "submitResult")),
      ...disputed.map((on) => act(on, "requestRefund")),
      {
        do: "actAll",
        moves: ["3000000", "8000000"].map((buyerShare, i) => ({
          on: disputed[i],
          action: "withdrawDisputed",
          buyerShare,
        })),
      },
      act("withdrawn", "withdraw"),
    ]);
    await settle(chain, source);
    for (const [step, buyer, seller] of [
      [a, "3000000", "9000000"],
      [b, "8000000", "4000000"],
      [withdrawn, "2000000", "10000000"],
    ] as const) {
      const parts = { buyer: native(buyer), seller: native(seller), protocolFee: [] };
      expect(await settledOf(step)).toEqual([parts, parts]);
    }
  });
});
