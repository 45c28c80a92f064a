import { env } from "cloudflare:workers";
import { blake2b } from "@noble/hashes/blake2.js";
import { beforeEach, describe, expect, it } from "vitest";
import { ADMIN, STRANGER } from "../../../devnet/demo/actors/wallets.ts";
import { signCoseSign1 } from "../../../src/chain/cose.ts";
import { hexToBytes } from "../../../src/chain/hex.ts";
import { openDb } from "../../../src/db/client.ts";
import { disputeQueue } from "../../../src/escrow/disputes/dispute-queue.ts";
import { emptyTables } from "../../support/app.ts";
import { DisputeFixture, native, RESULT } from "../../support/escrow/dispute-fixture.ts";
import { PaymentSourceFixture } from "../../support/escrow/payment-source-fixture.ts";
import { FORGED_FORMS, WALLET_FORMS } from "../../support/wallet-signatures.ts";
import { expectRevealOnlyToAdministrators, reveal } from "./signed-reveal.ts";

beforeEach(emptyTables);

describe("a dispute of Web3ChainV2", () => {
  it("is settled by itself once enough administrators have signed and its time has come", async () => {
    const disputed = await DisputeFixture.open("Web3ChainV2");
    const { buying, held, fixture } = disputed;
    const agent = { agentIdentifier: expect.any(String), agentName: expect.any(String) };
    const both = { ...agent, resultHash: RESULT, Funds: native(held), Proposal: null };
    expect(await disputed.disputes()).toMatchObject([both, both]);
    await expectRevealOnlyToAdministrators(disputed);

    expect(await disputed.propose(1n, { SellerFunds: native(2n) })).toMatchObject({
      status: 400,
      message: expect.stringContaining(`${held}`),
    });
    expect(await disputed.propose(1n, { Signers: [ADMIN.vkey] })).toMatchObject({
      status: 400,
      message: expect.stringContaining("Signers"),
    });
    const first = await disputed.propose(held);
    const buyer = 3_000_000n;
    const { data: proposal } = await disputed.propose(buyer);
    expect(proposal).toMatchObject({
      ...{ state: "Collecting", SignedBy: [], missingSignatures: 2 },
      ...{ unsignedTxCbor: null, expiresAt: null },
    });
    expect(proposal.message).toHaveLength(56);

    const message = hexToBytes(proposal.message);
    const byStranger = await disputed.sign(proposal.id, signCoseSign1(message, STRANGER.keys));
    expect(byStranger).toMatchObject({
      status: 400,
      message: expect.stringContaining("administrator"),
    });
    const ofFirst = signCoseSign1(hexToBytes(first.data.message), ADMIN.keys);
    expect(await disputed.sign(proposal.id, ofFirst)).toMatchObject({ status: 400 });
    expect(await disputed.sign(first.data.id, ofFirst)).toMatchObject({ status: 409 });
    const withoutKey = { signature: ofFirst.signature };
    expect(await disputed.sign(proposal.id, withoutKey)).toMatchObject({
      status: 400,
      message: expect.stringContaining("key: is required"),
    });

    const byOther = await buying.chain.sign(ADMIN.mnemonic, { data: proposal.message });
    expect(await disputed.sign(proposal.id, byOther)).toMatchObject({
      status: 200,
      data: { state: "SettleRequested", SignedBy: [ADMIN.vkey], missingSignatures: 0 },
    });
    const sign = (payload: Uint8Array) => signCoseSign1(payload, ADMIN.keys);
    for (const [name, form] of WALLET_FORMS)
      expect((await disputed.sign(proposal.id, form(message, sign))).status, name).toBe(200);
    for (const [name, form] of FORGED_FORMS)
      expect((await disputed.sign(proposal.id, form(message, sign))).status, name).toBe(400);

    await disputed.work();
    await buying.sync();
    expect((await buying.only("purchase")).onChainState).toBe("Disputed");

    // Where the tip alone tells the time, only the wallet finds out that its time has come.
    fixture.bindings = { CHAIN_CLOCK: "tip" };
    await disputed.later(24);
    const wakes = (clock: "wall" | "tip") =>
      disputeQueue.findDueWallets?.(clock)(openDb(env), Date.now());
    expect(await wakes("wall")).toEqual([]);
    expect(await wakes("tip")).toHaveLength(1);
    expect(await disputed.drive("nothing")).toMatchObject({ status: 200 });
    await disputed.work();
    expect(await disputed.proposal()).toMatchObject({
      state: "SettleRequested",
      error: expect.stringContaining("`drives`"),
    });
    expect(await disputed.drive("all")).toMatchObject({ status: 200 });
    await fixture.skipPauses();
    await disputed.work();
    expect(await disputed.proposal()).toMatchObject({ state: "SettleInitiated", error: null });
    await buying.sync();
    for (const side of ["payment", "purchase"] as const)
      expect(await buying.only(side)).toMatchObject({
        onChainState: "DisputedWithdrawn",
        WithdrawnForBuyer: native(buyer),
        WithdrawnForSeller: native(held - buyer),
        NextAction: { requestedAction: "None", errorType: null },
      });
    expect(await disputed.disputes()).toEqual([]);
    expect(await reveal(disputed)).toMatchObject({
      status: 400,
      message: expect.stringContaining("DisputedWithdrawn"),
    });
  });

  it("is settled with a signature of the message's hash, as a wallet on hardware makes it, for the last", async () => {
    const disputed = await DisputeFixture.open("Web3ChainV2");
    const { buying, held, fixture } = disputed;
    const buyer = 3_000_000n;
    const { data: proposal } = await disputed.propose(buyer);
    expect(proposal).toMatchObject({ state: "Collecting", SignedBy: [], missingSignatures: 2 });
    const hash = blake2b(hexToBytes(proposal.message), { dkLen: 28 });
    expect(await disputed.sign(proposal.id, signCoseSign1(hash, ADMIN.keys))).toMatchObject({
      status: 200,
      data: { state: "SettleRequested", SignedBy: [ADMIN.vkey], missingSignatures: 0 },
    });
    fixture.bindings = { CHAIN_CLOCK: "tip" };
    await disputed.later(24);
    await disputed.work();
    await buying.sync();
    for (const side of ["payment", "purchase"] as const)
      expect(await buying.only(side)).toMatchObject({
        onChainState: "DisputedWithdrawn",
        WithdrawnForBuyer: native(buyer),
        WithdrawnForSeller: native(held - buyer),
        NextAction: { requestedAction: "None", errorType: null },
      });
  });
});

it("a dispute of Web3ChainV2 between parties that are paid at one address is settled for one of them alone", async () => {
  const disputed = await DisputeFixture.open("Web3ChainV2", STRANGER.address);
  const { held, buying, fixture } = disputed;
  expect(await disputed.propose(1n)).toMatchObject({
    status: 400,
    message: expect.stringMatching(
      `^BuyerFunds: both parties have the address ${STRANGER.address}`,
    ),
  });
  expect((await disputed.propose(0n)).status).toBe(200);
  const { data: proposal } = await disputed.propose(held);
  await disputed.sign(proposal.id, signCoseSign1(hexToBytes(proposal.message), ADMIN.keys));
  fixture.bindings = { CHAIN_CLOCK: "tip" };
  await disputed.later(24);
  await disputed.work();
  await buying.sync();
  for (const side of ["payment", "purchase"] as const)
    expect(await buying.only(side)).toMatchObject({
      onChainState: "DisputedWithdrawn",
      Settled: { buyer: native(held), seller: [] },
    });
});

it("POST /dispute/proposal says where nothing can be settled", async () => {
  const open = await PaymentSourceFixture.open("Web3ChainV2");
  await open.buy();
  const propose = (blockchainIdentifier: unknown) =>
    open.fixture.ask("POST", "/dispute/proposal", {
      ...{ network: "Preprod", blockchainIdentifier },
      ...{ BuyerFunds: native(1n), SellerFunds: native(1n) },
    });
  const { blockchainIdentifier: unlocked } = await open.only("purchase");
  expect(await propose(unlocked)).toMatchObject({
    status: 409,
    message: expect.stringContaining("not locked"),
  });
  expect((await propose("00")).status).toBe(404);
});
