/** Locks that are made once, where nobody hears that a node took them, or their block is taken back. */
import { beforeEach, describe, expect, it } from "vitest";
import { askProvider } from "../../../devnet/client/chain.ts";
import { emptyTables } from "../../support/app.ts";
import {
  PaymentSourceFixture,
  walletTransactions,
} from "../../support/escrow/payment-source-fixture.ts";

beforeEach(emptyTables);

const MINUTE = 60_000;
const WAITING = { requestedAction: "WaitingForExternalAction", errorType: null, errorNote: null };
const INITIATED = { requestedAction: "FundsLockingInitiated", errorType: null };
const REQUESTED = { requestedAction: "FundsLockingRequested", errorType: null };
/** The node takes what is sent, and its answer does not arrive whole. */
const ANSWER_LOST = { match: "/tx/submit", truncate: true };

/** Lets the wallet and the sync do all there is to do, and once more. */
async function settle(buying: PaymentSourceFixture): Promise<void> {
  for (let runs = 0; runs < 2; runs++) {
    await buying.fixture.skipPauses();
    await buying.work();
    await buying.sync();
  }
}

/** The transactions whose outputs are locked at the contract. */
async function locked({ chain, fixture }: PaymentSourceFixture): Promise<string[]> {
  const path = `/addresses/${fixture.contract.address}/utxos`;
  const { status, body } = await askProvider<{ tx_hash: string }[]>(chain.url, path);
  return status === 200 ? body.map(({ tx_hash }) => tx_hash) : [];
}

/** Expects both sides to show the one output that is locked on the chain, and by which transaction. */
async function expectLockedOnce(buying: PaymentSourceFixture, txHash: string): Promise<void> {
  expect(await locked(buying)).toEqual([txHash]);
  for (const side of ["purchase", "payment"] as const)
    expect(await buying.only(side), side).toMatchObject({
      onChainState: "FundsLocked",
      NextAction: WAITING,
      CurrentTransaction: { txHash, status: "Confirmed" },
    });
}

/** A service that has sent one lock, whose hash it is. */
async function sent(fault: Record<string, unknown> = {}): Promise<[PaymentSourceFixture, string]> {
  const buying = await PaymentSourceFixture.open();
  await buying.buy();
  await buying.chain.faults(fault);
  await buying.work();
  await buying.chain.faults();
  const [stored] = await walletTransactions();
  return [buying, stored?.hash ?? ""];
}

describe("a lock whose submission got no answer lands once, without an error,", () => {
  it.each([
    ["its wallet", (buying: PaymentSourceFixture) => buying.work()],
    ["the sync", (buying: PaymentSourceFixture) => buying.sync()],
  ])("when %s is the first to see that a block has it", async (_, see) => {
    const [buying, hash] = await sent(ANSWER_LOST);
    expect(await walletTransactions()).toEqual([{ hash, phase: "Stored" }]);
    expect(await buying.only("purchase")).toMatchObject({
      NextAction: INITIATED,
      CurrentTransaction: { txHash: hash, status: "Pending" },
    });
    await buying.chain.stats();
    await see(buying);
    await settle(buying);
    await expectLockedOnce(buying, hash);
    expect((await buying.chain.stats()).calls["POST /tx/submit"]).toBeUndefined();
    expect(await walletTransactions()).toHaveLength(1);
    expect(await buying.only("purchase")).toMatchObject({ TransactionHistory: [] });
  });

  it("when it is sent again to a node whose mempool has it", async () => {
    const buying = await PaymentSourceFixture.open();
    await buying.chain.holdBlocks();
    await buying.buy();
    await buying.chain.faults({ ...ANSWER_LOST, times: 1 });
    await buying.work();
    const [hash = ""] = await buying.chain.mempool();
    expect(await walletTransactions()).toEqual([{ hash, phase: "Stored" }]);
    await buying.chain.stats();
    await settle(buying);
    expect((await buying.chain.stats()).calls["POST /tx/submit"]).toBeGreaterThan(0);
    expect(await buying.chain.mempool()).toEqual([hash]);
    expect(await buying.only("purchase")).toMatchObject({ NextAction: INITIATED });
    await buying.chain.mine();
    await settle(buying);
    await expectLockedOnce(buying, hash);
    expect(await walletTransactions()).toHaveLength(1);
  });
});

describe("a lock of this service that was rolled back is replaced once", () => {
  /** A service whose lock both its wallet and its sync have seen in a block, which is taken back. */
  async function takenBack(): Promise<{
    buying: PaymentSourceFixture;
    hash: string;
    gone: string[];
  }> {
    const [buying, hash] = await sent();
    await settle(buying);
    await expectLockedOnce(buying, hash);
    const gone = await buying.chain.rollback(1);
    await buying.chain.mine(2);
    expect(await locked(buying)).toEqual([]);
    return { buying, hash, gone };
  }

  /** The same, once the sync has seen that it is. */
  async function undone() {
    const story = await takenBack();
    const { buying, hash } = story;
    await buying.sync();
    expect(await buying.only("purchase")).toMatchObject({
      onChainState: null,
      NextAction: INITIATED,
      CurrentTransaction: { txHash: hash, status: "RolledBack" },
    });
    expect(await buying.only("payment")).toMatchObject({
      onChainState: null,
      NextAction: WAITING,
      CurrentTransaction: null,
    });
    return story;
  }

  it("by the same transaction, when it returns in another block", async () => {
    const { buying, hash, gone } = await undone();
    await buying.chain.replay(gone);
    await settle(buying);
    await expectLockedOnce(buying, hash);
    expect(await walletTransactions()).toHaveLength(1);
  });

  it("by the same transaction, which its wallet sends again when it does not return", async () => {
    const { buying, hash } = await undone();
    await settle(buying);
    await expectLockedOnce(buying, hash);
    expect(await walletTransactions()).toHaveLength(1);
  });

  it("by the same transaction, when its wallet sees first that it is gone", async () => {
    const { buying, hash } = await takenBack();
    await buying.work();
    expect(await locked(buying)).toEqual([hash]);
    await settle(buying);
    await expectLockedOnce(buying, hash);
    expect(await walletTransactions()).toHaveLength(1);
  });

  it("by another transaction, when the time of the first is over, which never returns then", async () => {
    const { buying, hash, gone } = await undone();
    await buying.chain.advance(15 * MINUTE);
    await buying.chain.mine();
    await buying.work();
    expect(await buying.only("purchase")).toMatchObject({
      onChainState: null,
      NextAction: REQUESTED,
      TransactionHistory: [{ txHash: hash, status: "FailedViaTimeout" }],
    });
    await settle(buying);
    const again = (await buying.only("purchase")).CurrentTransaction?.txHash ?? "";
    expect(again).not.toBe(hash);
    await buying.chain.replay(gone);
    await settle(buying);
    await expectLockedOnce(buying, again);
  });
});
