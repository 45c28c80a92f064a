/** What the page of an escrow offers, by the contract's version and the escrow's state. */
import { expect, test } from "vitest";
import type { EscrowRow, Side } from "../../console/pages/escrow/sides.ts";
import { isStepOpen, listOfferedSteps } from "../../console/pages/escrow/steps.ts";
import { ON_CHAIN_STATES, type PaymentSourceType } from "../../src/chain/network.ts";

const NOW = Date.parse("2026-11-22T12:00:00Z");
const HOUR_MS = 3_600_000;

/** An escrow of which only the time of the result is over. */
const rowOf = (
  paymentSourceType: PaymentSourceType,
  onChainState: EscrowRow["onChainState"],
  NextAction: Partial<EscrowRow["NextAction"]> = {},
): EscrowRow =>
  ({
    id: "1",
    blockchainIdentifier: "aa",
    onChainState,
    payByTime: String(NOW - 2 * HOUR_MS),
    submitResultTime: String(NOW - HOUR_MS),
    unlockTime: String(NOW + HOUR_MS),
    externalDisputeUnlockTime: String(NOW + 2 * HOUR_MS),
    cooldownTime: "0",
    cooldownTimeOtherParty: "0",
    PaymentSource: { id: "1", paymentSourceType },
    NextAction: {
      requestedAction: "WaitingForExternalAction",
      errorType: null,
      errorNote: null,
      ...NextAction,
    },
  }) as EscrowRow;

const offered = (side: Side, row: EscrowRow) =>
  listOfferedSteps(side, row)
    .filter((step) => isStepOpen(step, NOW))
    .map(({ action: { name, path } }) => (path.endsWith(`/${name}`) ? name : `${name} by ${path}`));

test("an escrow's page offers the steps that its version and state allow now, and no other", () => {
  const found = (["Web3ChainV1", "Web3ChainV2"] as const).flatMap((type) =>
    ON_CHAIN_STATES.flatMap((state) =>
      (["payment", "purchase"] as const).flatMap((side) => {
        const names = offered(side, rowOf(type, state));
        return names.length === 0 ? [] : [`${type} ${state} ${side}: ${names.join(", ")}`];
      }),
    ),
  );
  expect(found.sort()).toEqual([
    "Web3ChainV1 Disputed payment: submit-result, authorize-refund",
    "Web3ChainV1 Disputed purchase: cancel-refund-request",
    "Web3ChainV1 FundsLocked purchase: request-refund, withdraw-refund",
    "Web3ChainV1 RefundRequested purchase: cancel-refund-request, withdraw-refund",
    "Web3ChainV1 ResultSubmitted payment: submit-result",
    "Web3ChainV1 ResultSubmitted purchase: request-refund",
    "Web3ChainV2 Disputed payment: submit-result, authorize-refund",
    "Web3ChainV2 Disputed purchase: authorize-withdrawal by /purchase/cancel-refund-request",
    "Web3ChainV2 FundsLocked payment: authorize-refund",
    "Web3ChainV2 FundsLocked purchase: request-refund, withdraw-refund",
    "Web3ChainV2 RefundAuthorized purchase: withdraw-refund",
    "Web3ChainV2 RefundRequested payment: authorize-refund",
    "Web3ChainV2 RefundRequested purchase: withdraw-refund",
    "Web3ChainV2 ResultSubmitted payment: submit-result, authorize-refund",
    "Web3ChainV2 ResultSubmitted purchase: request-refund",
    "Web3ChainV2 WithdrawAuthorized payment: withdraw",
  ]);
});

test("a purchase whose lock failed can be tried again, cleared and cancelled", () => {
  const failed = { requestedAction: "WaitingForManualAction", errorType: "NetworkError" };
  expect(offered("purchase", rowOf("Web3ChainV2", null, failed))).toEqual([
    "retry",
    "clear by /purchase/error-state-recovery",
    "cancel",
  ]);
});

test("an escrow whose funds differ from its quote is noted alone, for no step has failed", () => {
  const differs = { requestedAction: "WaitingForManualAction", errorType: "Unknown" };
  for (const side of ["payment", "purchase"] as const)
    expect(offered(side, rowOf("Web3ChainV2", "FundsOrDatumInvalid", differs))).toEqual([
      `clear by /${side}/error-state-recovery`,
    ]);
});

test("nothing is offered while a transaction is on its way, nor when all is over", () => {
  const underWay = { requestedAction: "SubmitResultInitiated" };
  expect(offered("payment", rowOf("Web3ChainV2", "FundsLocked", underWay))).toEqual([]);
  const over = { requestedAction: "None" };
  expect(offered("purchase", rowOf("Web3ChainV2", null, over))).toEqual([]);
  expect(offered("payment", rowOf("Web3ChainV2", "Withdrawn", over))).toEqual([]);
});
