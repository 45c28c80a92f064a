import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { ADMIN, SELLERS, STRANGER } from "../../../devnet/demo/actors/wallets.ts";
import { bytesToHex, hexToBytes } from "../../../src/chain/hex.ts";
import { addWitnesses } from "../../../src/chain/transaction/witnesses.ts";
import { signExtended, type WalletKeys } from "../../../src/chain/wallet-keys.ts";
import { openDb } from "../../../src/db/client.ts";
import { listReservedOutputs } from "../../../src/escrow/disputes/store.ts";
import { emptyTables } from "../../support/app.ts";
import {
  DisputeFixture,
  native,
  type ShownProposal,
} from "../../support/escrow/dispute-fixture.ts";
import { witnessSet } from "../../support/escrow/witness-set.ts";
import { found } from "../../support/registry/registration-fixture.ts";

beforeEach(emptyTables);

const BUYER = 3_000_000n;

it("a dispute of Web3ChainV1 is settled by a transaction that administrators sign in time", async () => {
  const disputed = await DisputeFixture.open("Web3ChainV1");
  const { buying, held, fixture } = disputed;
  fixture.bindings = { CHAIN_CLOCK: "tip" };
  const refusal = async (status: number, why: string, more: object = {}) =>
    expect(await disputed.propose(BUYER, more)).toMatchObject({
      status,
      message: expect.stringContaining(why),
    });
  const proposed = async () => (await disputed.propose(BUYER)).data;
  await refusal(409, "12 hours before");
  await disputed.later(24);
  await refusal(400, STRANGER.vkey, { Signers: [STRANGER.vkey] });
  // All that the escrow's wallets have may still be in no block, as far as they know.
  await drive(fixture.sellers[1].vkey, "nothing");
  await refusal(402, "10000000 minor units");
  await drive(fixture.sellers[1].vkey, "all");
  await disputed.work();

  // Another proposal, or none, frees what was set aside for the first.
  const first = await proposed();
  expect(first).toMatchObject({ state: "Collecting", missingSignatures: 1, SignedBy: [] });
  const second = await proposed();
  expect(await setAside()).toEqual([await outputOf(second.id)]);
  const spendable = await spendableOutputs(fixture);
  expect(await disputed.sign(first.id, byAdmin(first))).toMatchObject({
    status: 409,
    message: expect.stringContaining("Replaced"),
  });
  for (const _ of ["once", "again"])
    expect(await disputed.withdraw(second.id)).toMatchObject({
      status: 200,
      data: { state: "Withdrawn", unsignedTxCbor: null },
    });
  expect(await disputed.proposal()).toBeNull();
  expect(await setAside()).toEqual([]);
  expect(await spendableOutputs(fixture)).toBe(spendable + 1);

  // What nobody signs in time is over, and says so.
  const third = await proposed();
  await disputed.later(25);
  await disputed.work();
  expect(await disputed.proposal()).toMatchObject({
    id: third.id,
    state: "Expired",
    error: expect.stringContaining("came too late: propose and sign again"),
  });
  expect(await disputed.sign(third.id, byAdmin(third))).toMatchObject({ status: 409 });
  expect(await disputed.withdraw(third.id)).toMatchObject({ status: 409 });

  // Who is named has to sign, whoever else would have been enough.
  await administrators(ADMIN.address, STRANGER.address, ADMIN.address);
  const both = [ADMIN.vkey, STRANGER.vkey];
  const { data: proposal } = await disputed.propose(BUYER, { Signers: both });
  expect(proposal).toMatchObject({ state: "Collecting", missingSignatures: 2 });
  const nobody = found([...SELLERS], () => true);
  const refused: [signature: string, why: string][] = [
    ["80", "witness set"],
    ["zz", "witness set"],
    [witnessSet(proposal.message, nobody.keys), nobody.vkey],
    [witnessSet(first.message, ADMIN.keys), ADMIN.vkey],
    [signedTransaction(first, ADMIN.keys), first.message],
  ];
  for (const [signature, why] of refused)
    expect(await disputed.sign(proposal.id, { signature })).toMatchObject({
      status: 400,
      message: expect.stringContaining(why),
    });
  // The wallet does without the output, whatever it is asked for, and says what it is for.
  const output = await outputOf(proposal.id);
  expect(await waiting(disputed)).toEqual([
    expect.objectContaining({
      id: proposal.id,
      reason: expect.stringContaining("reserved for the fee"),
    }),
  ]);
  expect(await transferAll(disputed)).toMatchObject({ status: 200 });
  await disputed.work();
  expect(await spentOutputs()).not.toContain(output);

  const byOther = await buying.chain.sign(ADMIN.mnemonic, {
    transaction: proposal.unsignedTxCbor ?? "",
  });
  for (const signature of [byOther.signature, signedTransaction(proposal, ADMIN.keys)])
    expect(await disputed.sign(proposal.id, { signature })).toMatchObject({
      status: 200,
      data: { state: "Collecting", SignedBy: [ADMIN.vkey], missingSignatures: 1 },
    });
  const ours = witnessSet(proposal.message, STRANGER.keys, ADMIN.keys);
  expect(await disputed.sign(proposal.id, { signature: ours })).toMatchObject({
    status: 200,
    data: { state: "SettleRequested", SignedBy: both, missingSignatures: 0 },
  });
  await disputed.work();
  expect(await disputed.proposal()).toMatchObject({
    state: "SettleInitiated",
    txHash: proposal.message,
  });
  expect(await spentOutputs()).toContain(output);
  await refusal(409, "the settlement of the dispute has begun");
  await buying.sync();
  for (const side of ["payment", "purchase"] as const)
    expect(await buying.only(side)).toMatchObject({
      onChainState: "DisputedWithdrawn",
      WithdrawnForBuyer: native(BUYER),
      WithdrawnForSeller: native(held - BUYER),
      NextAction: { requestedAction: "None", errorType: null },
    });
  await disputed.work();

  // A block that is taken back takes the settlement with it, and the wallet sends it again.
  await buying.chain.rollback(1);
  await buying.chain.mine();
  await buying.sync();
  expect((await buying.only("payment")).onChainState).toBe("Disputed");
  await disputed.work();
  await buying.sync();
  expect((await buying.only("payment")).onChainState).toBe("DisputedWithdrawn");
  await disputed.work();
  const { results } = await env.DB.prepare("SELECT state FROM dispute_proposal ORDER BY id").all();
  const states = results.map(({ state }) => state);
  expect(states).toEqual(["Replaced", "Withdrawn", "Expired", "Settled"]);
});

it("a settlement of Web3ChainV1 that comes too late for the escrow fails, and says so", async () => {
  const disputed = await DisputeFixture.open("Web3ChainV1");
  const { fixture, buying } = disputed;
  fixture.bindings = { CHAIN_CLOCK: "tip" };
  await disputed.later(24);
  await disputed.work();
  await administrators(STRANGER.address, STRANGER.address, STRANGER.address);
  expect(await disputed.propose(BUYER)).toMatchObject({
    status: 409,
    message: expect.stringContaining("the contract refuses the settlement"),
  });
  await administrators();
  const { data: proposal } = await disputed.propose(BUYER, { Signers: [ADMIN.vkey] });
  expect(proposal).toMatchObject({ state: "Collecting", missingSignatures: 1 });

  // The buyer is content after all, before the wallet gets to it.
  const { blockchainIdentifier } = disputed;
  const cancel = { network: "Preprod", blockchainIdentifier };
  expect(await fixture.ask("POST", "/purchase/cancel-refund-request", cancel)).toMatchObject({
    status: 200,
  });
  await buying.work();
  await disputed.sign(proposal.id, byAdmin(proposal));
  await disputed.work();
  const row = await env.DB.prepare("SELECT state, error FROM dispute_proposal").first();
  expect(row).toEqual({
    state: "Failed",
    error: expect.stringContaining("propose and sign again"),
  });
  expect((await env.DB.prepare("SELECT * FROM wallet_task").all()).results).toEqual([]);
  expect(await setAside()).toEqual([]);
});

/** What the payment source says of who the administrators are. */
const administrators = (...addresses: string[]) =>
  env.DB.prepare("UPDATE payment_source SET admin_wallets = ?")
    .bind(JSON.stringify(addresses.map((walletAddress) => ({ walletAddress }))))
    .run();

const byAdmin = ({ message }: ShownProposal) => ({ signature: witnessSet(message, ADMIN.keys) });

const drive = (vkey: string, drives: string) =>
  env.DB.prepare("UPDATE managed_wallet SET drives = ? WHERE vkey = ?").bind(drives, vkey).run();

/** Outputs that are kept for proposals that wait. */
const setAside = async () => [...(await listReservedOutputs(openDb(env), "Preprod"))];

const outputOf = (id: string) =>
  env.DB.prepare("SELECT reserved_output FROM dispute_proposal WHERE id = ?")
    .bind(id)
    .first<string>("reserved_output");

/** How many outputs the source's wallets can spend, as they are shown. */
async function spendableOutputs(fixture: DisputeFixture["fixture"]): Promise<number> {
  const { data } = await fixture.ask<{ Wallets: { Outputs: { count: number } }[] }>(
    "GET",
    "/wallet/list?limit=100",
  );
  return data.Wallets.reduce((sum, { Outputs }) => sum + Outputs.count, 0);
}

/** The settlements that the source's wallets say they wait with. */
async function waiting({ fixture }: DisputeFixture) {
  const { data } = await fixture.ask<{ Wallets: { id: string }[] }>(
    "GET",
    "/wallet/list?limit=100",
  );
  const wallets = await Promise.all(
    data.Wallets.map(({ id }) =>
      fixture.ask<{ Waiting: { feature: string }[] }>("GET", `/wallet?id=${id}`),
    ),
  );
  return wallets.flatMap((one) => one.data.Waiting).filter(({ feature }) => feature === "dispute");
}

/**
 * Requests a transfer of all that the proposal's wallet has, less the transfer's cost. The amount
 * is too large while outputs are reserved, and once the wallet paid for a settlement.
 */
async function transferAll({ fixture, buying }: DisputeFixture) {
  const vkey = await env.DB.prepare("SELECT wallet_vkey FROM dispute_proposal ORDER BY id DESC")
    .bind()
    .first<string>("wallet_vkey");
  const all = [...fixture.sellers, ...Object.values(buying.buyers)];
  const { address } = found(all, (one) => one.vkey === vkey);
  const { data } = await fixture.ask<{ Balance: { unit: string; quantity: number }[] }>(
    "GET",
    `/balance?network=Preprod&address=${address}`,
  );
  const coin = found(data.Balance, ({ unit }) => unit === "");
  return fixture.ask("POST", "/wallet/transfer-funds", {
    ...{ fromWalletAddress: address, toAddress: STRANGER.address },
    minorUnitAmount: String(coin.quantity - 1_250_000),
  });
}

/** Names of all outputs that transactions of wallets spend, or have at stake. */
async function spentOutputs(): Promise<string[]> {
  const { results } = await env.DB.prepare("SELECT content FROM wallet_transaction_content").all<{
    content: string;
  }>();
  return results.flatMap(({ content }) => {
    const { inputs, collateral } = JSON.parse(content);
    return [...inputs, ...(collateral?.inputs ?? [])];
  });
}

/** The whole transaction, signed, as some libraries answer. */
function signedTransaction({ message, unsignedTxCbor }: ShownProposal, keys: WalletKeys): string {
  const signature = signExtended(keys, hexToBytes(message));
  const witness = { publicKey: keys.paymentPublicKey, signature };
  return bytesToHex(addWitnesses(hexToBytes(unsignedTxCbor ?? ""), [witness]));
}
