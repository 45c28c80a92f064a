/**
 * The demo: lives of escrows of both generations, played with real transactions, so that every
 * on-chain state there is occurs. The contracts of the local chain do not look at deadlines, so
 * nothing has to be waited for.
 */
import { setImmediate } from "node:timers/promises";
import type { OnChainState, PaymentSourceType } from "../src/chain/network.ts";
import { act, lock } from "./actors/actions.ts";
import type { LockOrder } from "./actors/escrow.ts";
import type { EscrowAction } from "./actors/moves.ts";
import { CASTS, type Wallet } from "./actors/wallets.ts";
import type { Chain } from "./chain.ts";

/** The life of one escrow: how it is locked, what is done to it, and the state it ends in. */
interface Life {
  version: PaymentSourceType;
  steps: EscrowAction[];
  ends: OnChainState;
  lock?: Partial<LockOrder>;
}

/** A cooldown that is not zero makes a lock that the service must not accept. */
const STRANGE_LOCK = { datum: { sellerCooldownTime: 1n } };

/** Lives that the two generations share. */
const COMMON: Omit<Life, "version">[] = [
  { steps: [], ends: "FundsLocked" },
  { steps: [], ends: "FundsOrDatumInvalid", lock: STRANGE_LOCK },
  { steps: ["submitResult"], ends: "ResultSubmitted" },
  { steps: ["requestRefund"], ends: "RefundRequested" },
  { steps: ["submitResult", "requestRefund"], ends: "Disputed" },
  { steps: ["submitResult", "withdraw"], ends: "Withdrawn" },
  { steps: ["withdrawRefund"], ends: "RefundWithdrawn" },
  { steps: ["requestRefund", "withdrawRefund"], ends: "RefundWithdrawn" },
  { steps: ["submitResult", "requestRefund", "withdrawDisputed"], ends: "DisputedWithdrawn" },
];

/** Every life of the demo. */
export const LIVES: readonly Life[] = [
  ...COMMON.map((life) => ({ ...life, version: "Web3ChainV1" as const })),
  {
    version: "Web3ChainV1",
    steps: ["requestRefund", "cancelRefund", "submitResult", "withdraw"],
    ends: "Withdrawn",
    lock: { collateral: 2_000_000n },
  },
  {
    version: "Web3ChainV1",
    steps: ["submitResult", "requestRefund", "authorizeRefund", "withdrawRefund"],
    ends: "RefundWithdrawn",
  },
  ...COMMON.map((life) => ({ ...life, version: "Web3ChainV2" as const })),
  {
    version: "Web3ChainV2",
    steps: ["submitResult", "requestRefund", "authorizeWithdrawal"],
    ends: "WithdrawAuthorized",
  },
  {
    version: "Web3ChainV2",
    steps: ["submitResult", "requestRefund", "authorizeWithdrawal", "withdraw"],
    ends: "Withdrawn",
    lock: { collateral: 2_000_000n },
  },
  { version: "Web3ChainV2", steps: ["requestRefund", "authorizeRefund"], ends: "RefundAuthorized" },
  {
    version: "Web3ChainV2",
    steps: ["submitResult", "requestRefund", "authorizeRefund", "withdrawRefund"],
    ends: "RefundWithdrawn",
  },
];

/** An escrow of the demo and where its life has ended. */
export interface PlayedLife {
  version: PaymentSourceType;
  /** The `blockchainIdentifier` of its payment and purchase. */
  identifier: string;
  ends: OnChainState;
  seller: Wallet;
  buyer: Wallet;
}

/**
 * Plays every life to its end. Sellers and buyers take turns.
 *
 * @throws LedgerRejection when the ledger refuses a transaction.
 */
export async function playDemo(chain: Chain): Promise<PlayedLife[]> {
  const played: PlayedLife[] = [];
  for (const [turn, { version, steps, ends, lock: terms }] of LIVES.entries()) {
    const { sellers, buyers } = CASTS[version];
    const parties = { seller: atTurn(sellers, turn), buyer: atTurn(buyers, turn) };
    let escrow = lock(chain, { version, ...parties, ...terms });
    for (const action of steps) escrow = act(chain, escrow, action);
    played.push({ version, identifier: escrow.identifier, ends, ...parties });
    // The ledger runs in this process: let the provider's API answer in between.
    await setImmediate();
  }
  return played;
}

function atTurn(wallets: Wallet[], turn: number): Wallet {
  const wallet = wallets[turn % wallets.length];
  if (!wallet) throw new Error("a payment source of the demo has no wallet");
  return wallet;
}
