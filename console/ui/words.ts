/** Names of the API as people say them. */
import { splitWords } from "./format.ts";

const WORDS: Readonly<Record<string, string>> = {
  // States of an escrow.
  FundsOrDatumInvalid: "Differs from quote",
  WithdrawAuthorized: "Payout authorized",
  Withdrawn: "Paid out",
  RefundWithdrawn: "Refunded",
  DisputedWithdrawn: "Dispute settled",
  // What a wallet does next.
  None: "Nothing to do",
  Ignore: "Ignored",
  WaitingForManualAction: "Needs a person",
  WaitingForExternalAction: "Waits for others",
  SubmitResultRequested: "Submits the result",
  SubmitResultInitiated: "Result on its way",
  WithdrawRequested: "Collects the payout",
  WithdrawInitiated: "Payout on its way",
  AuthorizeRefundRequested: "Authorizes the refund",
  AuthorizeRefundInitiated: "Authorization on its way",
  FundsLockingRequested: "Locks the funds",
  FundsLockingInitiated: "Lock on its way",
  SetRefundRequestedRequested: "Requests the refund",
  SetRefundRequestedInitiated: "Refund request on its way",
  UnSetRefundRequestedRequested: "Cancels the refund request",
  UnSetRefundRequestedInitiated: "Cancellation on its way",
  WithdrawRefundRequested: "Collects the refund",
  WithdrawRefundInitiated: "Refund on its way",
  AuthorizeWithdrawalRequested: "Authorizes the payout",
  AuthorizeWithdrawalInitiated: "Authorization on its way",
  // Steps of tasks.
  FundsLocking: "Lock the funds",
  SubmitResult: "Submit the result",
  Withdraw: "Collect the payout",
  AuthorizeRefund: "Authorize the refund",
  SetRefundRequested: "Request the refund",
  UnSetRefundRequested: "Cancel the refund request",
  WithdrawRefund: "Collect the refund",
  AuthorizeWithdrawal: "Authorize the payout",
  // Errors.
  InsufficientFunds: "Lacks funds",
  Unknown: "Needs a decision",
  // Automation of wallets and sources.
  all: "Runs everything",
  finish: "Ends open escrows",
  nothing: "Only watches",
  // What chain providers are used for.
  reads: "Reads the chain",
  evaluate: "Evaluates scripts",
  submit: "Submits transactions",
  // Filters.
  true: "Yes",
  // Contracts.
  Web3ChainV1: "Version 1",
  Web3ChainV2: "Version 2",
  // Endpoints and their events.
  EXTENDED: "Whole record (JSON)",
  CHAT: "Chat message",
  GOOGLE_CHAT: "Google Chat",
  DISCORD: "Discord",
  PURCHASE_ON_CHAIN_STATUS_CHANGED: "Purchase: new state",
  PAYMENT_ON_CHAIN_STATUS_CHANGED: "Payment: new state",
  PURCHASE_ON_ERROR: "Purchase: error",
  PAYMENT_ON_ERROR: "Payment: error",
  PURCHASE_DEADLINE_NEAR: "Purchase: deadline near",
  PAYMENT_DEADLINE_NEAR: "Payment: deadline near",
  WALLET_LOW_BALANCE: "Wallet: low balance",
  X402_PAYMENT_SETTLED: "x402: payment settled",
  X402_PAYMENT_FAILED: "x402: payment failed",
  X402_WALLET_LOW_BALANCE: "x402: low balance",
  FUND_DISTRIBUTION_SENT: "Top-up: sent",
  FUND_DISTRIBUTION_CONFIRMED: "Top-up: confirmed",
  FUND_DISTRIBUTION_FAILED: "Top-up: failed",
  SOURCE_STUCK: "Service: source stuck",
  PROVIDER_OUT: "Service: chain provider out",
  WALLET_STUCK: "Service: wallet stuck",
  ENDPOINT_DISABLED: "Service: endpoint disabled",
  QUEUE_DEAD: "Service: message given up",
  DATABASE_NEARLY_FULL: "Service: database nearly full",
  DATABASE_FULL: "Service: database full",
  ARCHIVE_NEEDED: "Service: archives full",
  ARCHIVE_BEHIND: "Service: archive set back",
  ARCHIVE_UNBOUND: "Service: archive not bound",
  ARCHIVE_UNMIGRATED: "Service: archive not migrated",
  // x402.
  InboundVerify: "Incoming, checked only",
  InboundSettle: "Incoming",
  OutboundPayment: "Outgoing",
  // Proposals of disputes.
  Collecting: "Collects signatures",
};

/** Whether people call it otherwise than the API does. */
export function hasWords(name: string): boolean {
  return Object.hasOwn(WORDS, name);
}

/** What people call a constant of the API; one that has no other name is split into its words. */
export function toWords(name: string): string {
  return hasWords(name) ? (WORDS[name] ?? name) : splitWords(name);
}
