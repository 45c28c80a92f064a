/** The lives of escrows that the demo plays, so that every on-chain state there is occurs. */
import type { EscrowDatum } from "../../src/chain/contracts/escrow-datum.ts";
import type { OnChainState, PaymentSourceType } from "../../src/chain/network.ts";
import type { EscrowAction } from "./actors/moves.ts";

/** The life of an escrow, or of some that go through it together. */
export interface Life {
  version: PaymentSourceType;
  /** What is done after the lock. */
  steps: EscrowAction[];
  ends: OnChainState;
  /** How many are locked in one transaction, and moved in one. Default 1. */
  together?: number;
  /** The price is in tokens. */
  inTokens?: true;
  /** The parties have return addresses. Web3ChainV2 only. */
  returns?: true;
  /** Native minor units on top of the price. */
  collateral?: bigint;
  /** Laid over the datum, for a lock that the service must not accept. */
  datum?: Partial<EscrowDatum>;
  /** Runs at the end of the two days, so that the next automatic step is some time away. */
  isLate?: true;
  /** The party that is nobody's whom the service knows: what only it can do stays undone. */
  stranger?: "seller" | "buyer";
}

/** How the service ends what its parties leave open. */
const BY_ITSELF: Partial<Record<OnChainState, OnChainState>> = {
  FundsLocked: "RefundWithdrawn",
  RefundRequested: "RefundWithdrawn",
  RefundAuthorized: "RefundWithdrawn",
  ResultSubmitted: "Withdrawn",
  WithdrawAuthorized: "Withdrawn",
};

/** Lives that the two generations share. */
const COMMON: Omit<Life, "version">[] = [
  { steps: [], ends: "FundsLocked" },
  // A cooldown that is not zero makes the lock a strange one.
  { steps: [], ends: "FundsOrDatumInvalid", datum: { sellerCooldownTime: 1n } },
  { steps: ["submitResult"], ends: "ResultSubmitted" },
  { steps: ["requestRefund"], ends: "RefundRequested" },
  { steps: ["submitResult", "requestRefund"], ends: "Disputed" },
  { steps: ["submitResult", "withdraw"], ends: "Withdrawn" },
  {
    steps: ["submitResult", "withdraw"],
    ends: "Withdrawn",
    inTokens: true,
    collateral: 2_000_000n,
  },
  { steps: ["withdrawRefund"], ends: "RefundWithdrawn" },
  { steps: ["requestRefund", "withdrawRefund"], ends: "RefundWithdrawn", inTokens: true },
  { steps: ["submitResult", "requestRefund", "withdrawDisputed"], ends: "DisputedWithdrawn" },
];

/** Every life of the demo. */
export const LIVES: readonly Life[] = [
  ...COMMON.map((life) => ({ ...life, version: "Web3ChainV1" as const })),
  {
    version: "Web3ChainV1",
    steps: ["requestRefund", "cancelRefund", "submitResult", "withdraw"],
    ends: "Withdrawn",
    collateral: 2_000_000n,
  },
  {
    version: "Web3ChainV1",
    steps: ["submitResult", "requestRefund", "authorizeRefund", "withdrawRefund"],
    ends: "RefundWithdrawn",
  },
  ...COMMON.map((life) => ({
    ...life,
    version: "Web3ChainV2" as const,
    ...(BY_ITSELF[life.ends] && { isLate: true as const }),
  })),
  {
    version: "Web3ChainV2",
    steps: ["submitResult", "requestRefund", "authorizeWithdrawal"],
    ends: "WithdrawAuthorized",
    stranger: "seller",
  },
  {
    version: "Web3ChainV2",
    steps: ["submitResult", "requestRefund", "authorizeWithdrawal", "withdraw"],
    ends: "Withdrawn",
    collateral: 2_000_000n,
  },
  {
    version: "Web3ChainV2",
    steps: ["requestRefund", "authorizeRefund"],
    ends: "RefundAuthorized",
    stranger: "buyer",
  },
  {
    version: "Web3ChainV2",
    steps: ["submitResult", "requestRefund", "authorizeRefund", "withdrawRefund"],
    ends: "RefundWithdrawn",
    returns: true,
  },
  {
    version: "Web3ChainV2",
    steps: ["submitResult", "withdraw"],
    ends: "Withdrawn",
    returns: true,
    inTokens: true,
    collateral: 2_000_000n,
  },
  {
    version: "Web3ChainV2",
    steps: ["submitResult", "requestRefund", "withdrawDisputed"],
    ends: "DisputedWithdrawn",
    returns: true,
  },
  { version: "Web3ChainV2", steps: ["submitResult", "withdraw"], ends: "Withdrawn", together: 4 },
];

/** The state that each escrow of the lives is left in by those who play it. */
export const endsOf = (lives: readonly Life[]): OnChainState[] =>
  lives.flatMap(({ ends, together = 1 }) => Array.from({ length: together }, () => ends));

/**
 * The final states of the service's records once it drives its wallets. It ends the escrows of
 * managed parties whose time has come.
 */
export function drivenEndsOf(lives: readonly Life[], side: "payment" | "purchase"): OnChainState[] {
  const party = side === "payment" ? "seller" : "buyer";
  return endsOf(
    lives
      .filter(({ stranger }) => stranger !== party)
      .map((life) => {
        const end = life.isLate || life.stranger ? undefined : BY_ITSELF[life.ends];
        return end ? { ...life, ends: end } : life;
      }),
  );
}
