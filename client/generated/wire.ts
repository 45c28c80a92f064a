/** Written by `npm run generate:client`: do not change it here. */

/** Hash of the document that the types follow from. */
export const SHAPE = "d4f3bf36330c40ccf931a48f2eff8bcdcb7763fc310e4210b1e18d8807d8b5a8" as const;

/** Fields in the other spelling, and their names here. */
export const FIELDS = {
  totalBuyerCardanoFees: "totalBuyerChainFees",
  totalSellerCardanoFees: "totalSellerChainFees",
  collateralReturnLovelace: "collateralReturnMinorUnit",
  sendFundingLovelace: "sendFundingMinorUnit",
} as const;

/** Values in the other spelling, and their names here. */
export const VALUES = {
  Web3CardanoV1: "Web3ChainV1",
  Web3CardanoV2: "Web3ChainV2",
  SLACK: "CHAT",
  CardanoV2: "ChainV2",
  "cardano.payment_source": "chain.payment_source",
  "cardano.contract_current": "chain.contract_current",
  "cardano.rpc_provider": "chain.rpc_provider",
  "cardano.admin_signatures": "chain.admin_signatures",
  "cardano.selling_wallet": "chain.selling_wallet",
  "cardano.purchasing_wallet": "chain.purchasing_wallet",
  "cardano.payments_enabled": "chain.payments_enabled",
} as const;

/** The fields that have such values. */
export const VALUE_FIELDS = [
  "filterPaymentSourceType",
  "format",
  "id",
  "paymentSourceType",
  "paymentType",
  "paymentTypes",
  "rail",
  "type",
  "webhookFormat",
] as const;

/** Operations by POST that may be sent again when their outcome is not known. */
export const REPEATABLE = [
  "POST /api/v1/purchase",
  "POST /api/v1/purchase/resolve-blockchain-identifier",
  "POST /api/v1/payment",
  "POST /api/v1/payment/resolve-blockchain-identifier",
  "POST /api/v1/payment/income",
  "POST /api/v1/purchase/spending",
  "POST /api/v1/payment/submit-result",
  "POST /api/v1/payment/authorize-refund",
  "POST /api/v1/payment/withdraw",
  "POST /api/v1/purchase/request-refund",
  "POST /api/v1/purchase/withdraw-refund",
  "POST /api/v1/purchase/cancel-refund-request",
  "POST /api/v1/payment/error-state-recovery",
  "POST /api/v1/payment/retry",
  "POST /api/v1/purchase/error-state-recovery",
  "POST /api/v1/purchase/retry",
  "POST /api/v1/payment-source-extended",
  "POST /api/v1/wallet",
  "POST /api/v1/wallet/low-balance",
  "POST /api/v1/wallet/transfer-funds",
  "POST /api/v1/wallet/top-up",
  "POST /api/v1/api-key",
  "POST /api/v1/registry-diff",
  "POST /api/v1/registry-entry",
  "POST /api/v1/registry-entry-search",
  "POST /api/v1/registry",
  "POST /api/v1/registry/deregister",
  "POST /api/v1/inbox-agents",
  "POST /api/v1/inbox-agents/deregister",
  "POST /api/v1/registry-inbox",
  "POST /api/v1/registry-inbox/deregister",
  "POST /api/v1/inbox-agent-registration",
  "POST /api/v1/inbox-agent-registration-search",
  "POST /api/v1/inbox-agent-registration-diff",
  "POST /api/v1/registry-source",
  "POST /api/v1/webhooks",
  "POST /api/v1/webhooks/rotate-secret",
  "POST /v1/admin/worker-bots",
  "POST /v1/admin/worker-bots/versions",
  "POST /api/v1/invoice/monthly",
  "POST /api/v1/invoice/monthly/internal",
  "POST /api/v1/invoice/rates",
  "POST /api/v1/units",
  "POST /api/v1/x402/payment-sources",
  "POST /api/v1/x402/networks",
  "POST /api/v1/x402/wallets",
  "POST /api/v1/x402/low-balance",
  "POST /api/v1/x402/pay",
  "POST /api/v1/x402/budgets",
] as const;
