/** The two networks of the ledger that the interface names. */
export const NETWORKS = ["Preprod", "Mainnet"] as const;
export type Network = (typeof NETWORKS)[number];

/** What tells the networks apart in a genesis. */
export const NETWORK_MAGICS: Record<Network, number> = { Preprod: 1, Mainnet: 764_824_073 };

/** Generations of the escrow contract: V1 has 16 datum fields, V2 has 19. */
export const PAYMENT_SOURCE_TYPES = ["Web3ChainV1", "Web3ChainV2"] as const;
export type PaymentSourceType = (typeof PAYMENT_SOURCE_TYPES)[number];

/** States of an escrow on the chain (`reference` enumeration of the interface). */
export const ON_CHAIN_STATES = [
  "FundsLocked",
  "FundsOrDatumInvalid",
  "ResultSubmitted",
  "RefundRequested",
  "Disputed",
  "WithdrawAuthorized",
  "RefundAuthorized",
  "Withdrawn",
  "RefundWithdrawn",
  "DisputedWithdrawn",
] as const;
export type OnChainState = (typeof ON_CHAIN_STATES)[number];

/** An amount of one asset: `unit` is `""` for the native coin, else policy id and asset name in hex. */
export interface Funds {
  unit: string;
  /** Minor units. */
  amount: bigint;
}
