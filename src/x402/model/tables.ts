import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { createBalanceRuleTable } from "../../wallets/rules/tables.ts";

export const ATTEMPT_DIRECTIONS = ["InboundVerify", "InboundSettle", "OutboundPayment"] as const;
export const ATTEMPT_STATUSES = [
  "PaymentRequired",
  "Verified",
  "Settled",
  "Failed",
  "Replayed",
] as const;

/** Schemes of x402 that the service settles. */
export const X402_SCHEMES = ["exact", "upto"] as const;

/** An EVM chain that x402 payments settle on. Core, as every table here. */
export const x402Network = sqliteTable(
  "x402_network",
  {
    id: text("id").primaryKey(),
    /** `eip155:` and the chain's number. */
    caip2Id: text("caip2_id").notNull(),
    displayName: text("display_name").notNull(),
    /** Sealed for (`x402_network`, id, `rpc_url`): such addresses often hold a key. */
    rpcUrl: text("rpc_url").notNull(),
    isTestnet: integer("is_testnet", { mode: "boolean" }).notNull(),
    isEnabled: integer("is_enabled", { mode: "boolean" }).notNull(),
    /** Lower-case address, as all addresses here. */
    defaultAsset: text("default_asset"),
    /** Of the default asset, as its contract says; null: no default asset, or none that says it. */
    defaultAssetDecimals: integer("default_asset_decimals"),
    /** Null: the network settles nothing. */
    facilitatorWalletId: text("facilitator_wallet_id"),
    /** Base URL of another facilitator, which settles in place of wallets. */
    facilitatorUrl: text("facilitator_url"),
    /** Its header `Authorization`, sealed for (`x402_network`, id, `facilitator_auth`). */
    facilitatorAuth: text("facilitator_auth"),
    /** JSON array: ids of the wallets that settle beside it. */
    otherFacilitatorWalletIds: text("other_facilitator_wallet_ids").notNull().default("[]"),
    /** Gas in a day for payments with a permit, of one payer and of all; null: none. */
    maxSponsoredGweiPerPayer: integer("max_sponsored_gwei_per_payer"),
    maxSponsoredGweiPerDay: integer("max_sponsored_gwei_per_day"),
    /** JSON array: ERC-6492 factories that may be called for a payer whose wallet is not deployed. */
    eip6492Factories: text("eip6492_factories").notNull(),
    createdById: text("created_by_id"),
    /** Epoch milliseconds, as all times. */
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [uniqueIndex("x402_network_caip2").on(table.caip2Id)],
);

/** An EVM wallet whose key we hold: `Selling` ones send settlements, `Purchasing` ones pay. */
export const x402Wallet = sqliteTable(
  "x402_wallet",
  {
    id: text("id").primaryKey(),
    caip2Id: text("caip2_id").notNull(),
    address: text("address").notNull(),
    type: text("type", { enum: ["Purchasing", "Selling"] }).notNull(),
    /** Sealed for (`x402_wallet`, id, `private_key`). */
    privateKey: text("private_key").notNull(),
    /** Whether a network has had it as a facilitator: payers may have signed payments that name it. */
    wasFacilitator: integer("was_facilitator", { mode: "boolean" }).notNull().default(false),
    note: text("note"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    deletedAt: integer("deleted_at"),
  },
  (table) => [
    uniqueIndex("x402_wallet_address")
      .on(table.caip2Id, table.address)
      .where(sql`deleted_at IS NULL`),
  ],
);

/** A resource paid for over x402, in one token. */
export const x402PaymentSource = sqliteTable(
  "x402_payment_source",
  {
    id: text("id").primaryKey(),
    /** Null: any resource of the owner, so the URL of a payment is not compared. */
    url: text("url"),
    description: text("description"),
    scheme: text("scheme", { enum: X402_SCHEMES }).notNull().default("exact"),
    caip2Id: text("caip2_id").notNull(),
    asset: text("asset").notNull(),
    /** Of `upto` the maximum. Decimal text, in the token's minor unit. Null: the owner states the price of each payment. */
    amount: text("amount"),
    payTo: text("pay_to").notNull(),
    maxTimeoutSeconds: integer("max_timeout_seconds").notNull(),
    /** EIP-712 domain of the token, for EIP-3009; null for a token that has none. */
    assetName: text("asset_name"),
    assetVersion: text("asset_version"),
    assetDecimals: integer("asset_decimals").notNull(),
    /** The registry entry it belongs to, when it was registered for one. */
    registryRequestId: text("registry_request_id"),
    /** JSON: what the public catalog says of it. Null: it is not there. */
    discovery: text("discovery"),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    deletedAt: integer("deleted_at"),
  },
  (table) => [
    // The catalog is public: its pages must not read what is not listed.
    index("x402_payment_source_listed")
      .on(table.id)
      .where(sql`discovery IS NOT NULL AND deleted_at IS NULL`),
  ],
);

/** Columns of `x402Attempt`. */
export const ATTEMPT_COLUMNS = {
  id: text("id").primaryKey(),
  direction: text("direction", { enum: ATTEMPT_DIRECTIONS }).notNull(),
  status: text("status", { enum: ATTEMPT_STATUSES }).notNull(),
  apiKeyId: text("api_key_id"),
  evmWalletId: text("evm_wallet_id"),
  /** The budget that an outbound payment has debited. Null: none. */
  budgetId: text("budget_id"),
  registryRequestId: text("registry_request_id"),
  supportedPaymentSourceId: text("supported_payment_source_id"),
  caip2Id: text("caip2_id").notNull(),
  asset: text("asset").notNull(),
  /** Of `upto` the charge; of an `InboundVerify`, and of an outbound one before its charge, the maximum. */
  amount: text("amount").notNull(),
  /** Of `upto`: what the payer signed at most. Null: `exact`. */
  maxAmount: text("max_amount"),
  payTo: text("pay_to").notNull(),
  payer: text("payer"),
  /** URL of the registered resource. Without one, the URL that the payment names. */
  resource: text("resource"),
  paymentPayloadHash: text("payment_payload_hash").notNull(),
  /** The on-chain authorization; see `authorization.ts`. Null when the payload has none. */
  claim: text("claim"),
  paymentIdentifier: text("payment_identifier"),
  errorReason: text("error_reason"),
  errorMessage: text("error_message"),
  /** What settles: a wallet's address, or the origin of another facilitator. */
  facilitator: text("facilitator"),
  /** Of a settlement: Unix seconds at which its authorization expires. */
  validBefore: integer("valid_before"),
  /** The settlement that a `Replayed` attempt repeats. */
  replayOf: text("replay_of"),
  /**
   * Of an outbound payment whose outcome the chain may still change: Unix seconds at which its
   * authorization expires. Null when nothing is left to watch.
   */
  watchedUntil: integer("watched_until"),
  /** Whether a credit was charged, which a failure refunds. */
  charged: integer("charged", { mode: "boolean" }).notNull(),
  /** Guards every change: a stale or repeated one violates NOT NULL. */
  revision: integer("revision").notNull(),
  createdAt: integer("created_at").notNull(),
  updatedAt: integer("updated_at").notNull(),
};

/** True for a settlement that holds its payment, which no other settlement may have. */
export const HOLDING_SQL = "direction = 'InboundSettle' AND status IN ('Verified', 'Settled')";
/** True for a settlement without an outcome. */
export const OPEN_SETTLEMENT_SQL = "direction = 'InboundSettle' AND status = 'Verified'";

/** An attempt with a payment, and its outcome. `WITHOUT ROWID`, which drizzle cannot say; so are settlements. */
export const x402Attempt = sqliteTable("x402_payment_attempt", ATTEMPT_COLUMNS, (table) => [
  index("x402_attempt_api_key").on(table.apiKeyId, table.id),
  // The verified payer's: a stranger cannot use up the identifiers of others.
  uniqueIndex("x402_attempt_identifier")
    .on(table.apiKeyId, table.payer, table.paymentIdentifier)
    .where(sql.raw(`${HOLDING_SQL} AND payment_identifier IS NOT NULL`)),
  // What the cron scans: the few that are not settled yet.
  index("x402_attempt_open").on(table.updatedAt).where(sql.raw(OPEN_SETTLEMENT_SQL)),
  // What the cron asks the chain about.
  index("x402_attempt_watched").on(table.caip2Id, table.id).where(sql`watched_until IS NOT NULL`),
  uniqueIndex("x402_attempt_signed_once")
    .on(table.apiKeyId, table.paymentIdentifier)
    .where(sql`direction = 'OutboundPayment' AND payment_identifier IS NOT NULL`),
  // The claim on the payment is in the PaymentPayload object; these two guard against its loss.
  uniqueIndex("x402_attempt_hash").on(table.paymentPayloadHash).where(sql.raw(HOLDING_SQL)),
  uniqueIndex("x402_attempt_claim").on(table.claim).where(sql.raw(HOLDING_SQL)),
]);

/** A settlement's on-chain outcome; at most one per attempt. */
export const x402Settlement = sqliteTable(
  "x402_settlement",
  {
    id: text("id").primaryKey(),
    attemptId: text("attempt_id").notNull(),
    /** The key of the attempt. */
    apiKeyId: text("api_key_id").notNull(),
    success: integer("success", { mode: "boolean" }).notNull(),
    txHash: text("tx_hash").notNull(),
    amount: text("amount").notNull(),
    payer: text("payer").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [
    uniqueIndex("x402_settlement_attempt").on(table.attemptId),
    index("x402_settlement_api_key").on(table.apiKeyId, table.id),
  ],
);

/** The gas of a settlement that approves Permit2 by a permit of its payer. */
export const x402SponsoredGas = sqliteTable(
  "x402_sponsored_gas",
  {
    attemptId: text("attempt_id").primaryKey(),
    caip2Id: text("caip2_id").notNull(),
    asset: text("asset").notNull(),
    payer: text("payer").notNull(),
    /** Days since 1970, UTC. */
    day: integer("day").notNull(),
    /** What counts against the limits: the reservation, then the cost. A reservation beyond the limits violates NOT NULL. */
    gwei: integer("gwei").notNull(),
    /** What it cost, decimal text; null: not known yet. */
    wei: text("wei"),
    /** Whether the settlement has no outcome: permits have consecutive nonces, so that a payer has one at a time. */
    isOpen: integer("is_open", { mode: "boolean" }).notNull(),
  },
  (table) => [
    index("x402_sponsored_gas_day").on(table.caip2Id, table.day, table.payer, table.gwei),
    uniqueIndex("x402_sponsored_gas_open")
      .on(table.caip2Id, table.asset, table.payer)
      .where(sql`is_open = 1`),
    // What the cron asks wallets for.
    index("x402_sponsored_gas_unknown").on(table.attemptId).where(sql`wei IS NULL AND is_open = 0`),
  ],
);

/** How much a key may still pay from a wallet, in one token. */
export const x402Budget = sqliteTable(
  "x402_budget",
  {
    id: text("id").primaryKey(),
    apiKeyId: text("api_key_id").notNull(),
    evmWalletId: text("evm_wallet_id").notNull(),
    asset: text("asset").notNull(),
    remainingAmount: text("remaining_amount").notNull(),
    spentAmount: text("spent_amount").notNull(),
    isEnabled: integer("is_enabled", { mode: "boolean" }).notNull(),
    /** The key that saved it first. */
    createdById: text("created_by_id").notNull(),
    /** Amounts are text: they are added in code, and this detects concurrent writes. */
    revision: integer("revision").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [uniqueIndex("x402_budget_scope").on(table.apiKeyId, table.evmWalletId, table.asset)],
);

/** The wallet balance below which operators are notified. The unit is `native` or a token's address. */
export const x402BalanceRule = createBalanceRuleTable("x402_balance_rule");
