CREATE TABLE `api_key` (
	`id` text PRIMARY KEY NOT NULL,
	`token_hash` text NOT NULL,
	`masked_token` text NOT NULL,
	`permission` text NOT NULL,
	`status` text NOT NULL,
	`can_pay` integer NOT NULL,
	`network_limit` text NOT NULL,
	`usage_limited` integer NOT NULL,
	`max_usage_credits` integer NOT NULL,
	`accumulated_usage_credits` integer NOT NULL,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer,
	CONSTRAINT "api_key_credits" CHECK("api_key"."accumulated_usage_credits" BETWEEN 0 AND "api_key"."max_usage_credits")
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_key_token_hash` ON `api_key` (`token_hash`);--> statement-breakpoint
CREATE TABLE `audit` (
	`id` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`api_key_id` text NOT NULL,
	`request_id` text NOT NULL,
	`action` text NOT NULL,
	`target` text NOT NULL,
	`detail` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `clock` (
	`feed` text PRIMARY KEY NOT NULL,
	`t` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `idempotency` (
	`api_key_id` text NOT NULL,
	`key` text NOT NULL,
	`request_hash` text NOT NULL,
	`sealed_answer` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`api_key_id`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `idempotency_created_at` ON `idempotency` (`created_at`);--> statement-breakpoint
CREATE TABLE `escrow` (
	`id` text PRIMARY KEY NOT NULL,
	`side` text NOT NULL,
	`network` text NOT NULL,
	`source_id` text NOT NULL,
	`source_type` text NOT NULL,
	`contract_address` text NOT NULL,
	`policy_id` text NOT NULL,
	`blockchain_identifier` text NOT NULL,
	`identifier_hash` text NOT NULL,
	`requested_by_id` text NOT NULL,
	`terms` text NOT NULL,
	`state` text NOT NULL,
	`on_chain_state` text,
	`utxo` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`last_checked_at` integer,
	`chain_changed_at` integer NOT NULL,
	`action_changed_at` integer NOT NULL,
	`changed_at` integer NOT NULL,
	`sequence` integer NOT NULL,
	`rev` integer NOT NULL,
	`doc_version` integer NOT NULL,
	`doc` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `escrow_chain_changed` ON `escrow` (`side`,`network`,`source_type`,`chain_changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_contract_chain_changed` ON `escrow` (`side`,`network`,`contract_address`,`source_type`,`chain_changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_action_changed` ON `escrow` (`side`,`network`,`source_type`,`action_changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_contract_action_changed` ON `escrow` (`side`,`network`,`contract_address`,`source_type`,`action_changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_changed` ON `escrow` (`side`,`network`,`source_type`,`changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_contract_changed` ON `escrow` (`side`,`network`,`contract_address`,`source_type`,`changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_newest` ON `escrow` (`side`,`network`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `escrow_identifier` ON `escrow` (`identifier_hash`,`side`,`source_id`);--> statement-breakpoint
CREATE INDEX `escrow_utxo` ON `escrow` (`source_id`,`utxo`);--> statement-breakpoint
CREATE TABLE `escrow_action` (
	`record_id` text NOT NULL,
	`id` text NOT NULL,
	`tx_hash` text,
	`doc` text NOT NULL,
	PRIMARY KEY(`record_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `escrow_transaction` (
	`record_id` text NOT NULL,
	`tx_hash` text NOT NULL,
	`id` text NOT NULL,
	`source_id` text NOT NULL,
	`status` text NOT NULL,
	`block_height` integer NOT NULL,
	`tx_index` integer NOT NULL,
	`before` text NOT NULL,
	`fields` text NOT NULL,
	`doc` text NOT NULL,
	PRIMARY KEY(`record_id`, `tx_hash`)
);
--> statement-breakpoint
CREATE INDEX `escrow_transaction_height` ON `escrow_transaction` (`source_id`,`block_height`);--> statement-breakpoint
CREATE TABLE `chain_tip` (
	`network` text PRIMARY KEY NOT NULL,
	`height` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `checkpoint` (
	`source_id` text NOT NULL,
	`height` integer NOT NULL,
	`block_hash` text NOT NULL,
	`tx_index` integer NOT NULL,
	`tx_hash` text NOT NULL,
	PRIMARY KEY(`source_id`, `height`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `managed_wallet` (
	`id` text PRIMARY KEY NOT NULL,
	`source_id` text NOT NULL,
	`network` text NOT NULL,
	`role` text NOT NULL,
	`vkey` text NOT NULL,
	`address` text NOT NULL,
	`mnemonic` text NOT NULL,
	`note` text NOT NULL,
	`collection_address` text,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `managed_wallet_vkey` ON `managed_wallet` (`network`,`vkey`) WHERE deleted_at IS NULL;--> statement-breakpoint
CREATE INDEX `managed_wallet_source` ON `managed_wallet` (`source_id`);--> statement-breakpoint
CREATE TABLE `payment_source` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`type` text NOT NULL,
	`contract_address` text NOT NULL,
	`policy_id` text NOT NULL,
	`admin_wallets` text NOT NULL,
	`fee_rate_permille` integer NOT NULL,
	`fee_receiver_address` text,
	`required_admin_signatures` integer,
	`cooldown_time` integer NOT NULL,
	`rpc_provider` text NOT NULL,
	`rpc_provider_api_key` text NOT NULL,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `payment_source_contract` ON `payment_source` (`network`,`contract_address`) WHERE deleted_at IS NULL;--> statement-breakpoint
CREATE TABLE `source_cursor` (
	`source_id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`version` integer NOT NULL,
	`last_op` text,
	`position` text,
	`recent` text NOT NULL,
	`start` text,
	`complete` integer NOT NULL,
	`ignored_locks` integer NOT NULL,
	`tip_hash` text,
	`last_checked_at` integer,
	`lease_until` integer,
	`error` text
);
--> statement-breakpoint
CREATE TABLE `event` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`network` text NOT NULL,
	`source_id` text,
	`record_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`data` text NOT NULL,
	`created_at` integer NOT NULL,
	`dispatched_at` integer
);
--> statement-breakpoint
CREATE INDEX `event_undispatched` ON `event` (`id`) WHERE dispatched_at IS NULL;