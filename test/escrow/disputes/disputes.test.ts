import { env } from "cloudflare:workers";
import { blake2b } from "@noble/hashes/blake2.js";
import { beforeEach, describe, expect, it } from "vitest";
import { ADMIN, STRANGER } from "../../../devnet/demo/actors/wallets.ts";
import { signCoseSign1 } from "../../../src/chain/cose.ts";
import { hexToBytes } from "../../../src/chain/hex.ts";
import { db } from "../../../src/db/client.ts";
import { walletsWithSettlements } from "../../../src/escrow/disputes/store.ts";
import { emptyTables } from "../../support/app.ts";
import { BuyDesk, storedRecords } from "../../support/escrow/buying.ts";
import { askFor } from "../../support/sources/wants.ts";

beforeEach(emptyTables);

const HOUR = 60 * 60_000;
const RESULT = "ab".repeat(32);

async function later(buying: BuyDesk, ms: number): Promise<void> {
  await buying.chain.advance(ms);
  await buying.chain.mine();
}

/** A service with one escrow that both sides dispute. */
async function disputed(type: "Web3ChainV1" | "Web3ChainV2"): Promise<BuyDesk> {
  const buying = await BuyDesk.open(type);
  const places = [0, 1, 2].map((order) => ({ walletAddress: ADMIN.address, order }));
  await env.DB.prepare("UPDATE payment_source SET admin_wallets = ?, required_admin_signatures = 2")
    .bind(JSON.stringify(places))
    .run();
  await buying.buy();
  await buying.work();
  await buying.sync();
  await askFor("payment", "SubmitResult", RESULT);
  await buying.desk.work();
  await buying.sync();
  await askFor("purchase", "SetRefundRequested");
  await buying.desk.skipPauses();
  await buying.work();
  await buying.sync();
  expect((await buying.only("purchase")).onChainState).toBe("Disputed");
  return buying;
}

/** Runs both sides' wallets once: either may pay for a settlement. */
async function work(buying: BuyDesk): Promise<void> {
  await buying.desk.work();
  await buying.work();
}

async function drive(buying: BuyDesk, drives: "nothing" | "all"): Promise<void> {
  const body = { id: buying.desk.sourceId, drives };
  expect(await buying.desk.ask("PATCH", "/payment-source-extended", body)).toMatchObject({
    status: 200,
  });
}

interface Proposal {
  id: string;
  state: string;
  message: string;
  missingSignatures: number;
  SignedBy: string[];
  txHash: string | null;
}

const native = (amount: bigint) => [{ unit: "", amount: String(amount) }];

const propose = (buying: BuyDesk, blockchainIdentifier: unknown, buyer: bigint, seller: bigint) =>
  buying.desk.ask<Proposal>("POST", "/dispute/proposal", {
    ...{ network: "Preprod", blockchainIdentifier },
    ...{ BuyerFunds: native(buyer), SellerFunds: native(seller) },
  });
const sign = (buying: BuyDesk, proposalId: string, cose: object) =>
  buying.desk.ask<Proposal>("POST", "/dispute/signature", {
    network: "Preprod",
    proposalId,
    ...cose,
  });
const disputes = async (buying: BuyDesk) =>
  (
    await buying.desk.ask<{ Disputes: Record<string, unknown>[] }>(
      "GET",
      "/dispute?network=Preprod",
    )
  ).data.Disputes;

describe("a dispute of Web3ChainV2", () => {
  it("is settled by itself once enough administrators have signed and its time has come", async () => {
    const buying = await disputed("Web3ChainV2");
    const { blockchainIdentifier } = await buying.only("purchase");
    const [record] = await storedRecords("purchase");
    const held = BigInt(record?.output?.value[0]?.amount ?? 0);
    const shown = await disputes(buying);
    expect(shown).toMatchObject([
      { resultHash: RESULT, Funds: native(held), Proposal: null },
      { resultHash: RESULT, Funds: native(held), Proposal: null },
    ]);

    const wrong = await propose(buying, blockchainIdentifier, 1n, 2n);
    expect(wrong).toMatchObject({ status: 400, message: expect.stringContaining(`${held}`) });
    const first = await propose(buying, blockchainIdentifier, held, 0n);
    const buyer = 3_000_000n;
    const { data: proposal } = await propose(buying, blockchainIdentifier, buyer, held - buyer);
    expect(proposal).toMatchObject({ state: "Collecting", SignedBy: [] });
    expect(proposal.message).toHaveLength(56);
    expect(proposal.missingSignatures).toBeGreaterThan(0);

    const message = hexToBytes(proposal.message);
    const byStranger = await sign(buying, proposal.id, signCoseSign1(message, STRANGER.keys));
    expect(byStranger).toMatchObject({
      status: 400,
      message: expect.stringContaining("administrator"),
    });
    const ofFirst = signCoseSign1(hexToBytes(first.data.message), ADMIN.keys);
    expect(await sign(buying, proposal.id, ofFirst)).toMatchObject({ status: 400 });
    expect(await sign(buying, first.data.id, ofFirst)).toMatchObject({ status: 409 });

    // A wallet on hardware signs the message's hash.
    const hashed = signCoseSign1(blake2b(message, { dkLen: 28 }), ADMIN.keys);
    const signed = await sign(buying, proposal.id, hashed);
    expect(signed).toMatchObject({
      status: 200,
      data: { state: "SettleRequested", SignedBy: [ADMIN.vkey], missingSignatures: 0 },
    });
    expect((await sign(buying, proposal.id, hashed)).status).toBe(200);

    await work(buying);
    await buying.sync();
    expect((await buying.only("purchase")).onChainState).toBe("Disputed");

    // Where the tip alone tells the time, only the wallet finds out that its time has come.
    buying.desk.bindings = { CHAIN_CLOCK: "tip" };
    await later(buying, 24 * HOUR);
    const wakes = (clock: "wall" | "tip") => walletsWithSettlements(clock)(db(env), Date.now());
    expect(await wakes("wall")).toEqual([]);
    expect(await wakes("tip")).toHaveLength(1);
    await drive(buying, "nothing");
    await work(buying);
    expect((await disputes(buying))[0]?.Proposal).toMatchObject({
      state: "SettleRequested",
      error: expect.stringContaining("`drives`"),
    });
    await drive(buying, "all");
    await buying.desk.skipPauses();
    await work(buying);
    const [under] = await disputes(buying);
    expect(under?.Proposal).toMatchObject({ state: "SettleInitiated", error: null });
    await buying.sync();
    for (const side of ["payment", "purchase"] as const)
      expect(await buying.only(side)).toMatchObject({
        onChainState: "DisputedWithdrawn",
        WithdrawnForBuyer: native(buyer),
        WithdrawnForSeller: native(held - buyer),
        NextAction: { requestedAction: "None", errorType: null },
      });
    expect(await disputes(buying)).toEqual([]);
  });
});

it("POST /dispute/proposal says where nothing can be settled", async () => {
  const v1 = await disputed("Web3ChainV1");
  const { blockchainIdentifier } = await v1.only("purchase");
  expect(await propose(v1, blockchainIdentifier, 1n, 1n)).toMatchObject({
    status: 409,
    message: expect.stringContaining("Web3ChainV1"),
  });
  await emptyTables();
  const open = await BuyDesk.open("Web3ChainV2");
  await open.buy();
  const { blockchainIdentifier: unlocked } = await open.only("purchase");
  expect(await propose(open, unlocked, 1n, 1n)).toMatchObject({
    status: 409,
    message: expect.stringContaining("not locked"),
  });
  expect((await propose(open, "00", 1n, 1n)).status).toBe(404);
});
