import { env } from "cloudflare:workers";
import { blake2b } from "@noble/hashes/blake2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { beforeEach, describe, expect, it } from "vitest";
import { ADMIN, STRANGER } from "../../../devnet/demo/actors/wallets.ts";
import { formatAddress, parseAddress } from "../../../src/chain/address.ts";
import { encodeArray, encodeBytes, encodeInt, encodeMap } from "../../../src/chain/cbor.ts";
import { signCoseSign1 } from "../../../src/chain/cose.ts";
import { bytesToHex, hexToBytes } from "../../../src/chain/hex.ts";
import { signExtended, type WalletKeys } from "../../../src/chain/keys.ts";
import { withWitnesses } from "../../../src/chain/transaction/witnesses.ts";
import { db } from "../../../src/db/client.ts";
import { outputsSetAside, walletsWithSettlements } from "../../../src/escrow/disputes/store.ts";
import { emptyTables } from "../../support/app.ts";
import { BuyDesk, storedRecords } from "../../support/escrow/buying.ts";
import { found } from "../../support/registry/registration.ts";
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
  unsignedTxCbor: string | null;
  missingSignatures: number;
  SignedBy: string[];
  txHash: string | null;
}

/** The payment part of an address with the stake part of another one. */
function withStakeOf(address: string, other: string): string {
  const [mine, theirs] = [parseAddress(address), parseAddress(other)];
  if (!mine || !theirs?.stake) throw new Error("not base addresses");
  return formatAddress({ network: mine.network, payment: mine.payment, stake: theirs.stake });
}

/** Asks whether an administrator wants to see a job's data. */
async function reveal(
  buying: BuyDesk,
  blockchainIdentifier: unknown,
  { keys, ...overrides }: { keys?: WalletKeys; [field: string]: unknown } = {},
) {
  const validUntil = Date.now() + HOUR;
  const text = `{"action":"RevealData","blockchainIdentifier":"${blockchainIdentifier}","validUntil":${validUntil}}`;
  return buying.desk.ask("POST", "/signature/verify/reveal-data", {
    ...{ action: "RevealData", blockchainIdentifier, validUntil, walletAddress: ADMIN.address },
    ...signCoseSign1(utf8ToBytes(text), keys ?? ADMIN.keys),
    ...overrides,
  });
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

    const isValid = { status: 200, data: { isValid: true, problem: null } };
    expect(await reveal(buying, blockchainIdentifier)).toMatchObject(isValid);
    const unproven: [overrides: Parameters<typeof reveal>[2], problem: string][] = [
      [{ keys: STRANGER.keys }, "payment key"],
      [{ validUntil: Date.now() + 1000 }, "something else"],
      [{ signature: "84" }, "COSE_Sign1"],
      [{ signature: signCoseSign1(utf8ToBytes("no"), ADMIN.keys).signature }, "something else"],
    ];
    for (const [overrides, problem] of unproven)
      expect(await reveal(buying, blockchainIdentifier, overrides)).toMatchObject({
        status: 200,
        data: { isValid: false, problem: expect.stringContaining(problem) },
      });
    const refused: [overrides: Parameters<typeof reveal>[2], message: string][] = [
      [{ walletAddress: STRANGER.address }, "walletAddress"],
      // A stranger's payment key with an administrator's stake key is a stranger's.
      [{ walletAddress: withStakeOf(STRANGER.address, ADMIN.address) }, "walletAddress"],
      [{ validUntil: Date.now() - 1 }, "expired"],
      [{ validUntil: Date.now() + 3 * HOUR }, "two hours"],
    ];
    for (const [overrides, message] of refused)
      expect(await reveal(buying, blockchainIdentifier, overrides)).toMatchObject({
        status: 400,
        message: expect.stringContaining(message),
      });
    const elsewhere = withStakeOf(ADMIN.address, STRANGER.address);
    expect(await reveal(buying, blockchainIdentifier, { walletAddress: elsewhere })).toMatchObject(
      isValid,
    );

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

    const byOther = await buying.chain.sign(ADMIN.mnemonic, { data: proposal.message });
    const signed = await sign(buying, proposal.id, byOther);
    expect(signed).toMatchObject({
      status: 200,
      data: { state: "SettleRequested", SignedBy: [ADMIN.vkey], missingSignatures: 0 },
    });
    // A wallet on hardware signs the message's hash.
    const hashed = signCoseSign1(blake2b(message, { dkLen: 28 }), ADMIN.keys);
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
    expect(await reveal(buying, blockchainIdentifier)).toMatchObject({
      status: 400,
      message: expect.stringContaining("DisputedWithdrawn"),
    });
  });
});

describe("a dispute of Web3ChainV1", () => {
  it("is settled by a transaction that administrators sign, within its validity", async () => {
    const buying = await disputed("Web3ChainV1");
    buying.desk.bindings = { CHAIN_CLOCK: "tip" };
    const { blockchainIdentifier } = await buying.only("purchase");
    const [record] = await storedRecords("purchase");
    const held = BigInt(record?.output?.value[0]?.amount ?? 0);
    const buyer = 3_000_000n;
    const ask = (more: object = {}) =>
      buying.desk.ask<Proposal>("POST", "/dispute/proposal", {
        ...{ network: "Preprod", blockchainIdentifier, ...more },
        ...{ BuyerFunds: native(buyer), SellerFunds: native(held - buyer) },
      });
    const proposed = async () => (await ask()).data;
    const withdraw = (proposalId: string) =>
      buying.desk.ask<Proposal>("DELETE", "/dispute/proposal", { network: "Preprod", proposalId });
    const shown = async () => (await disputes(buying))[0]?.Proposal;
    expect(await ask()).toMatchObject({
      status: 409,
      message: expect.stringContaining("12 hours before"),
    });
    await later(buying, 24 * HOUR);
    await work(buying);
    expect(await ask({ Signers: [STRANGER.vkey] })).toMatchObject({
      status: 400,
      message: expect.stringContaining(STRANGER.vkey),
    });

    // Another proposal, or none, frees what was set aside for the first.
    const first = await proposed();
    expect(first).toMatchObject({ state: "Collecting", missingSignatures: 1, SignedBy: [] });
    const second = await proposed();
    expect(await setAside()).toEqual([await outputOf(second.id)]);
    expect(await sign(buying, first.id, byAdmin(first))).toMatchObject({
      status: 409,
      message: expect.stringContaining("Replaced"),
    });
    for (const _ of ["once", "again"])
      expect(await withdraw(second.id)).toMatchObject({
        status: 200,
        data: { state: "Withdrawn", unsignedTxCbor: null },
      });
    expect(await shown()).toBeNull();
    expect(await setAside()).toEqual([]);

    // What nobody signs in time is over, and says so.
    const third = await proposed();
    await later(buying, 25 * HOUR);
    await workAll(buying);
    expect(await shown()).toMatchObject({
      id: third.id,
      state: "Expired",
      error: expect.stringContaining("in time: propose again"),
    });
    expect(await sign(buying, third.id, byAdmin(third))).toMatchObject({ status: 409 });
    expect(await withdraw(third.id)).toMatchObject({ status: 409 });

    const proposal = await proposed();
    const output = await outputOf(proposal.id);
    const refused: [signature: string, why: string][] = [
      ["80", "witness set"],
      ["zz", "witness set"],
      [witnessSet(proposal.message, STRANGER.keys), STRANGER.vkey],
      [witnessSet(first.message, ADMIN.keys), ADMIN.vkey],
      [signedTransaction(first, ADMIN.keys), first.message],
    ];
    for (const [signature, why] of refused)
      expect(await sign(buying, proposal.id, { signature })).toMatchObject({
        status: 400,
        message: expect.stringContaining(why),
      });
    // The wallet does without the output, whatever it is asked for.
    expect(await transferAll(buying)).toMatchObject({ status: 200 });
    await workAll(buying);
    expect(await spentOutputs()).not.toContain(output);

    const byOther = await buying.chain.sign(ADMIN.mnemonic, {
      transaction: proposal.unsignedTxCbor ?? "",
    });
    const ours = witnessSet(proposal.message, STRANGER.keys, ADMIN.keys);
    for (const signature of [byOther.signature, ours, signedTransaction(proposal, ADMIN.keys)])
      expect(await sign(buying, proposal.id, { signature })).toMatchObject({
        status: 200,
        data: { state: "SettleRequested", SignedBy: [ADMIN.vkey], missingSignatures: 0 },
      });
    await workAll(buying);
    expect(await shown()).toMatchObject({ state: "SettleInitiated", txHash: proposal.message });
    expect(await spentOutputs()).toContain(output);
    expect(await ask()).toMatchObject({ status: 409 });
    await buying.sync();
    const settled = (await buying.shown("payment")).filter(
      ({ onChainState }) => onChainState === "DisputedWithdrawn",
    );
    expect(settled).toMatchObject([
      {
        WithdrawnForBuyer: native(buyer),
        WithdrawnForSeller: native(held - buyer),
        NextAction: { requestedAction: "None", errorType: null },
      },
    ]);
    await workAll(buying);
    const { results } = await env.DB.prepare(
      "SELECT state FROM dispute_proposal ORDER BY id",
    ).all();
    expect(results.map(({ state }) => state)).toEqual([
      "Replaced",
      "Withdrawn",
      "Expired",
      "Settled",
    ]);
  });
});

const byAdmin = ({ message }: Proposal) => ({ signature: witnessSet(message, ADMIN.keys) });

/** Runs all wallets of the source, for any of them may pay. */
async function workAll(buying: BuyDesk): Promise<void> {
  await work(buying);
  await buying.desk.work(buying.desk.sellers[1]);
}

/** Outputs that are kept for proposals that wait. */
const setAside = async () => [...(await outputsSetAside(db(env), "Preprod"))];

/** Asks the wallet that pays for a proposal to send away everything, but for the fee. */
async function transferAll(buying: BuyDesk) {
  const vkey = await env.DB.prepare("SELECT wallet_vkey FROM dispute_proposal ORDER BY id DESC")
    .bind()
    .first<string>("wallet_vkey");
  const all = [...buying.desk.sellers, ...Object.values(buying.buyers)];
  const { address } = found(all, (one) => one.vkey === vkey);
  const { data } = await buying.desk.ask<{ Balance: { unit: string; quantity: number }[] }>(
    "GET",
    `/balance?network=Preprod&address=${address}`,
  );
  const native = found(data.Balance, ({ unit }) => unit === "" || unit === "lovelace");
  return buying.desk.ask("POST", "/wallet/transfer-funds", {
    ...{ fromWalletAddress: address, toAddress: STRANGER.address },
    minorUnitAmount: String(native.quantity - 2_000_000),
  });
}

const outputOf = (id: string) =>
  env.DB.prepare("SELECT set_aside FROM dispute_proposal WHERE id = ?")
    .bind(id)
    .first<string>("set_aside");

/** Names of all outputs that transactions of wallets spend, or have at stake. */
async function spentOutputs(): Promise<string[]> {
  const { results } = await env.DB.prepare("SELECT content FROM wallet_transaction").all<{
    content: string;
  }>();
  return results.flatMap(({ content }) => {
    const { inputs, collateral } = JSON.parse(content);
    return [...inputs, collateral?.input];
  });
}

/** The whole transaction, signed, as some libraries answer. */
function signedTransaction({ message, unsignedTxCbor }: Proposal, keys: WalletKeys): string {
  const signature = signExtended(keys.paymentKey, hexToBytes(message));
  const witness = { publicKey: keys.paymentPublicKey, signature };
  return bytesToHex(withWitnesses(hexToBytes(unsignedTxCbor ?? ""), [witness]));
}

/** A witness set as a wallet answers `signTx`. */
function witnessSet(hash: string, ...keys: WalletKeys[]): string {
  const signed = keys.map(({ paymentKey, paymentPublicKey }) =>
    encodeArray([
      encodeBytes(paymentPublicKey),
      encodeBytes(signExtended(paymentKey, hexToBytes(hash))),
    ]),
  );
  return bytesToHex(encodeMap([[encodeInt(0n), encodeArray(signed)]]));
}

it("POST /dispute/proposal says where nothing can be settled", async () => {
  const open = await BuyDesk.open("Web3ChainV2");
  await open.buy();
  const { blockchainIdentifier: unlocked } = await open.only("purchase");
  expect(await propose(open, unlocked, 1n, 1n)).toMatchObject({
    status: 409,
    message: expect.stringContaining("not locked"),
  });
  expect((await propose(open, "00", 1n, 1n)).status).toBe(404);
});
