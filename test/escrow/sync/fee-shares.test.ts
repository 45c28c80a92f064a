import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { createSource, settle } from "../../support/sources/sync.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";
type Version = typeof V1 | typeof V2;

/** A managed wallet belongs to one payment source. */
const SOURCES: Record<Version, { seller: number; buyer: number; wallets: string[] }> = {
  [V1]: { seller: 0, buyer: 0, wallets: ["seller-0", "buyer-0"] },
  [V2]: { seller: 2, buyer: 2, wallets: ["seller-2", "buyer-2"] },
};

/** An order at a payment source. @param buyer - by default the source's own */
const order = (as: string, version: Version, buyer = SOURCES[version].buyer) => {
  return { as, version, seller: SOURCES[version].seller, buyer };
};
const lock = (as: string, version: Version) => ({ do: "lock", ...order(as, version) });
const VERSIONS: Record<string, Version> = { a: V1, b: V2, c: V2 };
const findLock = (as: string) => lock(as, VERSIONS[as] ?? V1);

beforeEach(emptyTables);

/** Has payment sources read a chain from its start. */
async function readBy(chain: TestChain, versions: readonly Version[]): Promise<void> {
  for (const version of versions) {
    const isManaged = (name: string) => SOURCES[version].wallets.includes(name);
    await settle(chain, await createSource(chain, version, isManaged));
  }
}

/** What the records of each side have been charged for the last transaction of a chain, and its fee. */
async function chargedFor(chain: TestChain, txHash: string | undefined) {
  const rows = await openDb(env).all<{ side: string; type: Version; charged: number }>(
    `SELECT side, source_type AS type,
       buyer_fees + seller_fees - coalesce(data->>'$.state.buyerFees', 0)
         - coalesce(data->>'$.state.sellerFees', 0) AS charged
     FROM escrow JOIN escrow_undo ON record_id = escrow.id AND tx_hash = ?
     ORDER BY side, source_type, charged DESC`,
    txHash ?? "",
  );
  const { fees } = await chain.get<{ fees: string }>(`/txs/${txHash}`);
  const of = (side: string) => rows.flatMap((row) => (row.side === side ? [row.charged] : []));
  return { payments: of("payment"), purchases: of("purchase"), fee: Number(fees) };
}

const sum = (amounts: readonly number[]) => amounts.reduce((total, one) => total + one, 0);

describe("The fee of a transaction of a third party", () => {
  it.each([
    ["a V1 and a V2 escrow", ["a", "b"]],
    ["a V1 and two V2 escrows", ["a", "b", "c"]],
  ])("that moves %s is split among them", async (_, names) => {
    const chain = await TestChain.create();
    await chain.act([{ do: "publish" }, ...names.map(findLock)]);
    const moves = names.map((on) => ({ on, action: "submitResult", isScriptRead: true }));
    const [together] = await chain.act([{ do: "actAll", moves }]);
    await readBy(chain, [V1, V2]);
    const { payments, purchases, fee } = await chargedFor(chain, together?.txHash);
    for (const shares of [payments, purchases]) {
      expect(shares).toHaveLength(names.length);
      expect(sum(shares)).toBe(fee);
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThan(names.length);
    }
  });

  it("that locks a V1 and two V2 escrows is split among them", async () => {
    const chain = await TestChain.create();
    const orders = [order("a", V1, 0), order("b", V2, 0), order("c", V2, 0)];
    const [together] = await chain.act([{ do: "lockAll", orders }]);
    await readBy(chain, [V1, V2]);
    const { payments, fee } = await chargedFor(chain, together?.txHash);
    expect(payments).toHaveLength(3);
    expect(sum(payments)).toBe(fee);
  });

  it("that moves a V2 escrow and locks a V1 escrow is borne by the first alone", async () => {
    const chain = await TestChain.create();
    await chain.act([lock("b", V2)]);
    const moves = [{ on: "b", action: "requestRefund" }];
    const [together] = await chain.act([{ do: "actAll", moves, orders: [order("a", V1, 2)] }]);
    await readBy(chain, [V1, V2]);
    const { payments, fee } = await chargedFor(chain, together?.txHash);
    expect(payments).toEqual([0, fee]);
  });

  it("is split alike where the service follows only one of the contracts", async () => {
    const chain = await TestChain.create();
    await chain.act([{ do: "publish" }, lock("a", V1), lock("b", V2)]);
    const moves = ["a", "b"].map((on) => ({ on, action: "submitResult", isScriptRead: true }));
    const [together] = await chain.act([{ do: "actAll", moves }]);
    await readBy(chain, [V2]);
    const { payments, fee } = await chargedFor(chain, together?.txHash);
    expect([Math.floor(fee / 2), Math.ceil(fee / 2)]).toContain(payments[0]);
  });
});
