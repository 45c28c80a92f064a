/** The two spellings of the names that have the chain's name in them elsewhere (`table.ts`). */

/** Fields, by their name in the interface. */
export const FIELDS = {
  totalBuyerChainFees: "totalBuyerCardanoFees",
  totalSellerChainFees: "totalSellerCardanoFees",
  collateralReturnMinorUnit: "collateralReturnLovelace",
  sendFundingMinorUnit: "sendFundingLovelace",
} as const;

/** Values that are not free text, by their name in the interface. */
export const VALUES = {
  Web3ChainV1: "Web3CardanoV1",
  Web3ChainV2: "Web3CardanoV2",
  CHAT: "SLACK",
  ChainV2: "CardanoV2",
  "chain.payment_source": "cardano.payment_source",
  "chain.contract_current": "cardano.contract_current",
  "chain.rpc_provider": "cardano.rpc_provider",
  "chain.admin_signatures": "cardano.admin_signatures",
  "chain.selling_wallet": "cardano.selling_wallet",
  "chain.purchasing_wallet": "cardano.purchasing_wallet",
  "chain.payments_enabled": "cardano.payments_enabled",
} as const;
