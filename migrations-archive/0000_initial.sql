CREATE TABLE `archive_operation` (
	`kind` text NOT NULL,
	`network` text NOT NULL,
	`operation` integer NOT NULL,
	PRIMARY KEY(`kind`, `network`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `audit` (
	`id` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`api_key_id` text NOT NULL,
	`request_id` text NOT NULL,
	`action` text NOT NULL,
	`target` text NOT NULL,
	`detail` text,
	`operation` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `audit_operation` ON `audit` (`operation`);--> statement-breakpoint
CREATE INDEX `audit_api_key` ON `audit` (`api_key_id`,`id`);--> statement-breakpoint
CREATE INDEX `audit_action` ON `audit` (`action`,`id`);--> statement-breakpoint
CREATE TABLE `escrow` (
	`id` text PRIMARY KEY NOT NULL,
	`side` text NOT NULL,
	`network` text NOT NULL,
	`source_id` text NOT NULL,
	`source_type` text NOT NULL,
	`contract_address` text NOT NULL,
	`policy_id` blob NOT NULL,
	`blockchain_identifier` blob NOT NULL,
	`identifier_hash` text NOT NULL,
	`requested_by_id` text NOT NULL,
	`is_requested` integer,
	`agent_identifier` blob NOT NULL,
	`agent_name` text,
	`pricing_type` text NOT NULL,
	`input_hash` blob NOT NULL,
	`pay_by_time` text NOT NULL,
	`submit_result_time` text NOT NULL,
	`unlock_time` text NOT NULL,
	`external_dispute_unlock_time` text NOT NULL,
	`collateral_return` text,
	`buyer` text,
	`buyer_vkey` text,
	`seller` text NOT NULL,
	`seller_vkey` text NOT NULL,
	`buyer_return_address` text,
	`seller_return_address` text,
	`funds` text NOT NULL,
	`wallet_ids` text,
	`on_chain_state` text,
	`utxo` text,
	`result_hash` blob NOT NULL,
	`buyer_cooldown` text NOT NULL,
	`seller_cooldown` text NOT NULL,
	`buyer_fees` text NOT NULL,
	`seller_fees` text NOT NULL,
	`withdrawn_for_seller` text NOT NULL,
	`withdrawn_for_buyer` text NOT NULL,
	`settled` text,
	`lock` text,
	`transaction_hash` text,
	`block_time` integer,
	`had_mismatch` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`last_checked_at` integer,
	`chain_changed_at` integer NOT NULL,
	`action_changed_at` integer NOT NULL,
	`changed_at` integer NOT NULL,
	`sequence` integer NOT NULL,
	`revision` integer NOT NULL,
	`output_length` integer,
	`requested_action` text NOT NULL,
	`error_type` text,
	`intent` text,
	`pending_hash` text,
	`error` text,
	`expired_at` integer,
	`charge` text,
	`wallet_id` text,
	`wallet_vkey` text,
	`wallet_address` text,
	`wallet_removed` integer,
	`due_at` integer,
	`deadline` integer,
	`last_deadline_warning` integer,
	`newest_transaction` text,
	`has_note` integer
);
--> statement-breakpoint
CREATE INDEX `escrow_chain_changed` ON `escrow` (`side`,`network`,`source_type`,`chain_changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_contract_chain_changed` ON `escrow` (`side`,`network`,`contract_address`,`source_type`,`chain_changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_wallet_chain_changed` ON `escrow` (`wallet_id`,`side`,`network`,`source_type`,`chain_changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_action_changed` ON `escrow` (`side`,`network`,`source_type`,`action_changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_contract_action_changed` ON `escrow` (`side`,`network`,`contract_address`,`source_type`,`action_changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_wallet_action_changed` ON `escrow` (`wallet_id`,`side`,`network`,`source_type`,`action_changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_changed` ON `escrow` (`side`,`network`,`source_type`,`changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_contract_changed` ON `escrow` (`side`,`network`,`contract_address`,`source_type`,`changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_wallet_changed` ON `escrow` (`wallet_id`,`side`,`network`,`source_type`,`changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_newest` ON `escrow` (`side`,`network`,`source_type`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_contract_newest` ON `escrow` (`side`,`network`,`contract_address`,`source_type`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_wallet_newest` ON `escrow` (`wallet_id`,`side`,`network`,`source_type`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_state_newest` ON `escrow` (`side`,`network`,`on_chain_state`,`source_type`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_agent_newest` ON `escrow` (`side`,`network`,`agent_identifier`,`source_type`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_ended` ON `escrow` (`side`,`network`,`block_time`) WHERE on_chain_state IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn');--> statement-breakpoint
CREATE INDEX `escrow_agent_ended` ON `escrow` (`side`,`network`,`agent_identifier`,`block_time`) WHERE on_chain_state IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn');--> statement-breakpoint
CREATE INDEX `escrow_billed` ON `escrow` (`network`,(CASE WHEN lock IS NULL THEN NULL
  WHEN lock->>'buyerVkey' IS NULL THEN buyer_vkey ELSE lock->>'buyerVkey' END),(CASE on_chain_state WHEN 'ResultSubmitted' THEN CAST(unlock_time AS INTEGER) ELSE block_time * 1000 END)) WHERE side = 'payment' AND on_chain_state IN ('Withdrawn', 'ResultSubmitted', 'DisputedWithdrawn');--> statement-breakpoint
CREATE TABLE `escrow_request` (
	`record_id` text PRIMARY KEY NOT NULL,
	`requested_by_id` text NOT NULL,
	`metadata` text,
	`made_at` integer NOT NULL,
	`purchase_of` text,
	`credits` integer,
	`is_spent` integer
);
--> statement-breakpoint
CREATE INDEX `escrow_request_metadata` ON `escrow_request` (`requested_by_id`,`record_id`) WHERE metadata IS NOT NULL;--> statement-breakpoint
CREATE TABLE `escrow_action` (
	`record_id` text NOT NULL,
	`id` text NOT NULL,
	`tx_hash` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`requested_action` text NOT NULL,
	`error_type` text,
	`error_note` text,
	PRIMARY KEY(`record_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `escrow_transaction` (
	`record_id` text NOT NULL,
	`tx_hash` text NOT NULL,
	`id` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`fees` text,
	`block_height` integer,
	`block_time` integer,
	`previous_on_chain_state` text,
	`new_on_chain_state` text,
	`intent` text,
	PRIMARY KEY(`record_id`, `tx_hash`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `x402_payment_attempt` (
	`id` text PRIMARY KEY NOT NULL,
	`direction` text NOT NULL,
	`status` text NOT NULL,
	`api_key_id` text,
	`evm_wallet_id` text,
	`budget_id` text,
	`registry_request_id` text,
	`supported_payment_source_id` text,
	`caip2_id` text NOT NULL,
	`asset` text NOT NULL,
	`amount` text NOT NULL,
	`max_amount` text,
	`pay_to` text NOT NULL,
	`payer` text,
	`resource` text,
	`payment_payload_hash` text NOT NULL,
	`claim` text,
	`payment_identifier` text,
	`error_reason` text,
	`error_message` text,
	`facilitator` text,
	`valid_before` integer,
	`replay_of` text,
	`watched_until` integer,
	`charged` integer NOT NULL,
	`revision` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`operation` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `x402_attempt_operation` ON `x402_payment_attempt` (`operation`);--> statement-breakpoint
CREATE INDEX `x402_attempt_api_key` ON `x402_payment_attempt` (`api_key_id`,`id`);--> statement-breakpoint
CREATE INDEX `x402_attempt_identifier` ON `x402_payment_attempt` (`api_key_id`,`payment_identifier`) WHERE payment_identifier IS NOT NULL;--> statement-breakpoint
CREATE INDEX `x402_attempt_hash` ON `x402_payment_attempt` (`payment_payload_hash`) WHERE direction = 'InboundSettle' AND status IN ('Verified', 'Settled');--> statement-breakpoint
CREATE INDEX `x402_attempt_claim` ON `x402_payment_attempt` (`claim`) WHERE direction = 'InboundSettle' AND status IN ('Verified', 'Settled');--> statement-breakpoint
CREATE TABLE `x402_settlement` (
	`id` text PRIMARY KEY NOT NULL,
	`attempt_id` text NOT NULL,
	`api_key_id` text NOT NULL,
	`success` integer NOT NULL,
	`tx_hash` text NOT NULL,
	`amount` text NOT NULL,
	`payer` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `x402_settlement_attempt` ON `x402_settlement` (`attempt_id`);--> statement-breakpoint
CREATE INDEX `x402_settlement_api_key` ON `x402_settlement` (`api_key_id`,`id`);