/** The two sides of an escrow. */
import {
  ON_CHAIN_STATES,
  type OnChainState,
  type PaymentSourceType,
} from "../../../src/chain/network.ts";
import {
  PAYMENT_ACTIONS,
  PURCHASE_ACTIONS,
  PURCHASE_ERROR_TYPES,
} from "../../../src/escrow/model/transitions.ts";

export type Side = "payment" | "purchase";

/** An amount of a unit, in minor units. */
export interface Funds {
  unit: string;
  amount: string;
}

/** What pages read of a record by name; all else is shown by its path. */
export interface EscrowRow {
  id: string;
  blockchainIdentifier: string;
  onChainState: OnChainState | null;
  PaymentSource: { id: string; paymentSourceType: PaymentSourceType };
  NextAction: { requestedAction: string; errorType: string | null; errorNote: string | null };
}

export const STATES = ON_CHAIN_STATES;
export const ACTIONS = [...new Set([...PAYMENT_ACTIONS, ...PURCHASE_ACTIONS])];
export const ERROR_TYPES = PURCHASE_ERROR_TYPES;

export const SIDES = {
  payment: {
    title: "Payments",
    about:
      "Escrows in which a wallet here is the seller, newest first. The table follows the chain.",
    list: "Payments",
    funds: "RequestedFunds",
    other: "purchase",
    counterparty: "BuyerWallet.walletVkey",
  },
  purchase: {
    title: "Purchases",
    about:
      "Escrows in which a wallet here is the buyer, newest first. The table follows the chain.",
    list: "Purchases",
    funds: "PaidFunds",
    other: "payment",
    counterparty: "SellerWallet.walletVkey",
  },
} as const satisfies Record<Side, object>;
