import type { STAYING_DATA } from "../../src/erasure/staying-data.ts";

/** `erased`: personal data of an API key, which `ERASURES` removes. Otherwise: why the column stays. */
type Treatment = "erased" | keyof typeof STAYING_DATA;

/**
 * What an erasure does with each column of text or bytes, by table: names of columns, separated by
 * spaces. A test fails for a column that is missing here. Numbers name nobody, and stay.
 */
const COLUMNS: Readonly<Record<string, Partial<Record<Treatment, string>>>> = {
  api_key: {
    erased: "name return_addresses",
    references:
      "id token_hash masked_token permission status network_limit wallet_limit created_by_id",
    accounting: "spending_limits",
  },
  key_spending: { references: "api_key_id network", accounting: "unit" },
  archive_range: { references: "kind network least_id greatest_id", progress: "bookmark" },
  archived_escrow_count: {
    references: "network side source_type wallet_ids",
    chain: "contract_address on_chain_state",
  },
  audit: { erased: "detail", references: "id api_key_id request_id action target" },
  clock: { references: "feed" },
  idempotency: { erased: "key request_hash sealed_answer", references: "api_key_id" },
  job: { progress: "name subject" },
  dispute_proposal: {
    references: "id network source_id identifier_hash created_by_id state",
    chain:
      "output wallet_vkey split message prepared reserved_output administrators signatures tx_hash",
    progress: "error",
  },
  escrow: {
    references:
      "id side network source_id source_type identifier_hash requested_by_id wallet_ids wallet_id",
    accounting: "funds withdrawn_for_seller withdrawn_for_buyer settled charge",
    chain:
      "contract_address policy_id blockchain_identifier agent_identifier agent_name pricing_type input_hash pay_by_time submit_result_time unlock_time external_dispute_unlock_time collateral_return buyer buyer_vkey seller seller_vkey buyer_return_address seller_return_address on_chain_state utxo result_hash buyer_cooldown seller_cooldown buyer_fees seller_fees lock transaction_hash wallet_vkey wallet_address",
    progress: "requested_action error_type intent pending_hash error",
  },
  escrow_action: {
    references: "record_id id",
    chain: "tx_hash",
    progress: "requested_action error_type error_note",
  },
  escrow_identity: { references: "identifier_hash side source_id id" },
  escrow_open: { references: "id network", chain: "doc output pending_transaction" },
  escrow_request: { erased: "metadata", references: "record_id requested_by_id purchase_of" },
  escrow_transaction: {
    references: "record_id id",
    chain: "tx_hash status fees previous_on_chain_state new_on_chain_state",
    progress: "intent",
  },
  escrow_undo: { temporary: "source_id record_id tx_hash data" },
  event: {
    temporary: "id kind network source_id owner_id wallet_ids record_id data dispatch_error",
  },
  event_cursor: {},
  incident: { progress: "kind subject last_op" },
  inbox_registration: {
    references: "id network source_id",
    chain:
      "policy_id source_url agent_identifier name description agent_slug provider_url status linked_email encryption_public_key encryption_key_version signing_public_key signing_key_version",
  },
  invoice_base: { invoices: "id network buyer_vkey seller_vkey month" },
  invoice_document: {
    invoices: "id base_id kind network seller_vkey number content fingerprint created_by_id pdf",
  },
  invoice_rate: { invoices: "month currency unit rate source" },
  invoice_series: { invoices: "network seller_vkey" },
  invoiced_payment: { invoices: "identifier_hash network contract_address base_id" },
  registration: {
    // Of a failed registration, which the chain never had. The others are on the chain.
    erased: "profile name",
    references: "id kind network source_id source_type state created_by_id",
    accounting: "send_funding funding_charged",
    chain: "contract_address policy_id agent_identifier wallet wallet_vkey recipient seed tx",
    progress: "error",
  },
  registry_cursor: { progress: "source_id network last_op recent tip_hash error" },
  registry_entry: {
    references: "id network source_id",
    chain:
      "policy_id source_url agent_identifier state health status api_base_url payment_type tags capability_id doc",
  },
  registry_health: { progress: "source_id entry_id last_check_error" },
  registry_source: {
    settings: "id network policy_id url note rpc_provider_api_key rpc_providers created_by_id",
  },
  registry_step: { temporary: "source_id tx_hash entry_id before" },
  chain_tip: { progress: "network" },
  checkpoint: { progress: "source_id block_hash tx_hash" },
  payment_source: {
    settings:
      "id network type contract_address policy_id admin_wallets fee_receiver_address rpc_provider rpc_provider_api_key rpc_providers drives created_by_id",
  },
  source_cursor: {
    progress: "source_id network last_op position recent start backfill tip_hash error",
  },
  unit: { settings: "unit ticker updated_by_id" },
  managed_wallet: {
    settings:
      "id source_id network role vkey address mnemonic note collection_address drives created_by_id",
  },
  hot_wallet: {
    references: "network vkey",
    progress: "last_op chain_root collateral spent_elsewhere blocker blocker_code",
  },
  wallet_transaction: {
    references: "network wallet_vkey source_id tasks request_id",
    chain: "hash fee block_hash",
    progress: "phase error",
  },
  wallet_transaction_content: { chain: "hash content cbor" },
  wallet_task: {
    references: "feature subject_id id network wallet_vkey source_id",
    progress: "reason_code reason",
  },
  reference_script: {
    references: "id network source_id created_by_id",
    chain: "wallet_vkey wallet_address script_hash cbor output deposit tx_hash",
    progress: "state error",
  },
  low_balance_rule: {
    settings: "id wallet_id unit threshold created_by_id",
    progress: "balance status",
  },
  top_up_rule: {
    settings: "id wallet_id unit below up_to per_day created_by_id",
    progress: "balance waits_for",
  },
  transfer: {
    references: "id network source_id wallet_id top_up_rule_id top_up_wallet_id created_by_id",
    accounting: "coin assets",
    chain: "wallet_vkey wallet_address to_address tx",
    progress: "state error event_counts",
  },
  webhook_delivery: {
    temporary:
      "endpoint_id event_id kind network source_id owner_id wallet_ids record_id status error attempt_log",
  },
  webhook_endpoint: {
    erased: "url name auth_token secret previous_secret",
    references: "id target_hash format events source_id created_by_id",
    progress: "disabled_reason",
  },
  webhook_subscription: { references: "kind source_id audience endpoint_id" },
  worker_bot: { settings: "id name version_id status created_by_id" },
  worker_bot_lock: { progress: "name migration_id" },
  worker_bot_migration: {
    settings: "id to_version_id from_version_id reason requested_by_id request_id",
  },
  worker_bot_move: {
    references: "id migration_id worker_bot_id from_version_id",
    progress: "outcome message",
  },
  worker_bot_version: { settings: "id name summary status created_by_id" },
  x402_payment_attempt: {
    references:
      "id direction status api_key_id evm_wallet_id budget_id registry_request_id supported_payment_source_id payment_payload_hash payment_identifier replay_of",
    accounting: "amount max_amount resource",
    chain: "caip2_id asset pay_to payer claim facilitator",
    progress: "error_reason error_message",
  },
  x402_balance_rule: {
    settings: "id wallet_id unit threshold created_by_id",
    progress: "balance status",
  },
  x402_budget: {
    references: "id api_key_id evm_wallet_id created_by_id",
    accounting: "asset remaining_amount spent_amount",
  },
  x402_network: {
    settings:
      "id caip2_id display_name rpc_url default_asset facilitator_wallet_id facilitator_url facilitator_auth other_facilitator_wallet_ids eip6492_factories created_by_id",
  },
  x402_payment_source: {
    erased: "url description discovery",
    references: "id caip2_id registry_request_id created_by_id",
    accounting: "scheme asset amount asset_name asset_version",
    chain: "pay_to",
  },
  x402_settlement: {
    references: "id attempt_id api_key_id",
    accounting: "amount",
    chain: "tx_hash payer",
  },
  x402_sponsored_gas: {
    references: "attempt_id",
    accounting: "wei",
    chain: "caip2_id asset payer",
  },
  x402_wallet: { settings: "id caip2_id address type private_key note created_by_id" },
};

/** The treatment of each declared column, by `table.column`. */
export const COLUMN_TREATMENTS: ReadonlyMap<string, Treatment> = new Map(
  Object.entries(COLUMNS).flatMap(([table, treatments]) =>
    Object.entries(treatments).flatMap(([treatment, columns]) =>
      columns.split(" ").map((column) => [`${table}.${column}`, treatment as Treatment] as const),
    ),
  ),
);
