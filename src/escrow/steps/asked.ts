/** What can be asked of an escrow by the API, and which step of the contract that is. */
import type { PaymentSourceType } from "../../chain/network.ts";
import type { Side } from "../record.ts";
import type { Step } from "../wanted.ts";

/** By the last part of its path. */
export type AskedName =
  | "submit-result"
  | "authorize-refund"
  | "withdraw"
  | "request-refund"
  | "cancel-refund-request"
  | "withdraw-refund";

interface AskedStep {
  side: Side;
  steps: Record<PaymentSourceType, Step>;
}

const onBoth = (side: Side, step: Step): AskedStep => ({
  side,
  steps: { Web3ChainV1: step, Web3ChainV2: step },
});

export const ASKED: Readonly<Record<AskedName, AskedStep>> = {
  "submit-result": onBoth("payment", "SubmitResult"),
  "authorize-refund": onBoth("payment", "AuthorizeRefund"),
  withdraw: onBoth("payment", "Withdraw"),
  "request-refund": onBoth("purchase", "SetRefundRequested"),
  "cancel-refund-request": {
    side: "purchase",
    steps: { Web3ChainV1: "UnSetRefundRequested", Web3ChainV2: "AuthorizeWithdrawal" },
  },
  "withdraw-refund": onBoth("purchase", "WithdrawRefund"),
};
