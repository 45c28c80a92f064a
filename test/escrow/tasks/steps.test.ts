import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import {
  PaymentSourceFixture,
  walletTransactions,
} from "../../support/escrow/payment-source-fixture.ts";
import { askFor } from "../../support/sources/wants.ts";

beforeEach(emptyTables);

const HOUR = 60 * 60_000;
const RESULT = "ab".repeat(32);
const WAITING = { requestedAction: "WaitingForExternalAction", errorType: null };
const NONE = { requestedAction: "None", errorType: null };

type Side = "payment" | "purchase";

/** A service on whose chain as many escrows are locked. */
async function locked(
  type: "Web3ChainV1" | "Web3ChainV2",
  count = 1,
): Promise<PaymentSourceFixture> {
  const buying = await PaymentSourceFixture.open(type);
  for (let i = 0; i < count; i++) await buying.buy();
  await buying.work();
  await buying.sync();
  return buying;
}

/** Lets the wallet of a side do what is due, until the chain shows it. */
async function act(buying: PaymentSourceFixture, side: Side): Promise<void> {
  await buying.fixture.skipPauses();
  if (side === "purchase") await buying.work();
  else await buying.fixture.work();
  await buying.sync();
}

async function later(buying: PaymentSourceFixture, ms: number): Promise<void> {
  await buying.chain.advance(ms);
  await buying.chain.mine();
}

async function states(buying: PaymentSourceFixture): Promise<unknown[]> {
  const shown = [await buying.only("payment"), await buying.only("purchase")];
  return shown.map(({ onChainState }) => onChainState);
}

describe("a step that is asked for", () => {
  it("is taken by the wallet, all through a life of Web3ChainV1", async () => {
    const buying = await locked("Web3ChainV1");
    await askFor("payment", "SubmitResult", RESULT);
    await buying.fixture.work();
    expect(await buying.only("payment")).toMatchObject({
      NextAction: { requestedAction: "SubmitResultInitiated", resultHash: RESULT },
      CurrentTransaction: { status: "Pending" },
    });
    await buying.sync();
    expect(await buying.only("purchase")).toMatchObject({
      onChainState: "ResultSubmitted",
      resultHash: RESULT,
      NextAction: WAITING,
    });

    await askFor("purchase", "SetRefundRequested");
    await act(buying, "purchase");
    expect(await states(buying)).toEqual(["Disputed", "Disputed"]);

    await askFor("purchase", "UnSetRefundRequested");
    await act(buying, "purchase");
    expect((await buying.only("purchase")).NextAction).toMatchObject({
      requestedAction: "UnSetRefundRequestedRequested",
    });
    await later(buying, HOUR / 2);
    await act(buying, "purchase");
    expect(await states(buying)).toEqual(["ResultSubmitted", "ResultSubmitted"]);

    await later(buying, 12 * HOUR);
    await askFor("payment", "Withdraw");
    await act(buying, "payment");
    for (const side of ["payment", "purchase"] as const)
      expect(await buying.only(side)).toMatchObject({
        onChainState: "Withdrawn",
        NextAction: NONE,
      });
  });

  it("is taken on Web3ChainV2, and an authorized refund is collected by itself", async () => {
    const buying = await locked("Web3ChainV2");
    await askFor("payment", "SubmitResult", RESULT);
    await act(buying, "payment");
    await askFor("payment", "AuthorizeRefund");
    await later(buying, HOUR / 2);
    await act(buying, "payment");
    expect(await states(buying)).toEqual(["RefundAuthorized", "RefundAuthorized"]);
    await act(buying, "purchase");
    for (const side of ["payment", "purchase"] as const)
      expect(await buying.only(side)).toMatchObject({
        onChainState: "RefundWithdrawn",
        NextAction: NONE,
      });
  });

  it.each([
    ["Web3ChainV1", 3],
    ["Web3ChainV2", 1],
  ] as const)("does not wait for a block where there are several (%s)", async (type, count) => {
    const buying = await locked(type, 3);
    const before = (await walletTransactions()).length;
    await askFor("payment", "SubmitResult", RESULT);
    await act(buying, "payment");
    expect((await walletTransactions()).length - before).toBe(count);
    const payments = await buying.shown("payment");
    expect(payments.map(({ onChainState }) => onChainState)).toEqual(
      Array(3).fill("ResultSubmitted"),
    );
  });

  it("ends visibly once its window has closed", async () => {
    const buying = await locked("Web3ChainV1");
    await askFor("payment", "SubmitResult", RESULT);
    await later(buying, 3 * HOUR);
    await act(buying, "payment");
    expect((await buying.only("payment")).NextAction).toMatchObject({
      requestedAction: "WaitingForExternalAction",
      errorType: "Unknown",
      errorNote: expect.stringContaining("deadline is over"),
    });
  });
});
