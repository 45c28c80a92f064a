CREATE TABLE `api_key` (
	`id` text PRIMARY KEY NOT NULL,
	`token_hash` text NOT NULL,
	`masked_token` text NOT NULL,
	`name` text DEFAULT '' NOT NULL,
	`permission` text NOT NULL,
	`status` text NOT NULL,
	`can_pay` integer NOT NULL,
	`network_limit` text NOT NULL,
	`usage_limited` integer NOT NULL,
	`max_usage_credits` integer NOT NULL,
	`accumulated_usage_credits` integer NOT NULL,
	`wallet_limit` text,
	`spending_limits` text,
	`return_addresses` text DEFAULT '[]' NOT NULL,
	`last_used_at` integer,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer,
	CONSTRAINT "api_key_credits" CHECK("api_key"."accumulated_usage_credits" BETWEEN 0 AND "api_key"."max_usage_credits")
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_key_token_hash` ON `api_key` (`token_hash`);--> statement-breakpoint
CREATE TABLE `key_spending` (
	`api_key_id` text NOT NULL,
	`network` text NOT NULL,
	`unit` text NOT NULL,
	`spent` integer NOT NULL,
	`spending_limit` integer NOT NULL,
	PRIMARY KEY(`api_key_id`, `network`, `unit`),
	CONSTRAINT "key_spending_limit" CHECK("key_spending"."spent" BETWEEN 0 AND "key_spending"."spending_limit")
);
--> statement-breakpoint
CREATE TABLE `archive_range` (
	`kind` text NOT NULL,
	`network` text NOT NULL,
	`archive` integer NOT NULL,
	`operation` integer NOT NULL,
	`begun` integer DEFAULT 0 NOT NULL,
	`count` integer NOT NULL,
	`returned` integer NOT NULL,
	`bookmark` text,
	`least_id` text,
	`greatest_id` text,
	`least_chain_changed_at` integer,
	`greatest_chain_changed_at` integer,
	`least_action_changed_at` integer,
	`greatest_action_changed_at` integer,
	`least_changed_at` integer,
	`greatest_changed_at` integer,
	`least_block_time` integer,
	`greatest_block_time` integer,
	PRIMARY KEY(`kind`, `network`, `archive`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `archive_range_changed` ON `archive_range` (`kind`,`network`,`greatest_changed_at`);--> statement-breakpoint
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
CREATE INDEX `audit_api_key` ON `audit` (`api_key_id`,`id`);--> statement-breakpoint
CREATE INDEX `audit_action` ON `audit` (`action`,`id`);--> statement-breakpoint
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
CREATE TABLE `job` (
	`name` text PRIMARY KEY NOT NULL,
	`subject` text NOT NULL,
	`done_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `dispute_proposal` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`source_id` text NOT NULL,
	`identifier_hash` text NOT NULL,
	`output` text NOT NULL,
	`wallet_vkey` text NOT NULL,
	`split` text NOT NULL,
	`message` text NOT NULL,
	`prepared` text,
	`reserved_output` text,
	`expires_at` integer,
	`administrators` text NOT NULL,
	`required` integer NOT NULL,
	`signatures` text NOT NULL,
	`opens_at` integer NOT NULL,
	`state` text NOT NULL,
	`tx_hash` text,
	`error` text,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `dispute_proposal_standing` ON `dispute_proposal` (`source_id`,output->>'utxo') WHERE state IN ('Collecting', 'SettleRequested');--> statement-breakpoint
CREATE INDEX `dispute_proposal_escrow` ON `dispute_proposal` (`identifier_hash`,`id`);--> statement-breakpoint
CREATE TABLE `archived_escrow_count` (
	`network` text NOT NULL,
	`side` text NOT NULL,
	`day` integer NOT NULL,
	`source_type` text NOT NULL,
	`contract_address` text NOT NULL,
	`wallet_ids` text NOT NULL,
	`on_chain_state` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`network`, `side`, `day`, `source_type`, `contract_address`, `wallet_ids`, `on_chain_state`)
) WITHOUT ROWID;
--> statement-breakpoint
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
	`last_deadline_warning` integer
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
CREATE INDEX `escrow_state_newest` ON `escrow` (`side`,`network`,`on_chain_state`,`source_type`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_wallet_newest` ON `escrow` (`wallet_id`,`side`,`network`,`source_type`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_agent_newest` ON `escrow` (`side`,`network`,`agent_identifier`,`source_type`,`id`);--> statement-breakpoint
CREATE INDEX `escrow_needs_person` ON `escrow` (`side`,`network`,`source_type`,`id`) WHERE error_type IS NOT NULL;--> statement-breakpoint
CREATE INDEX `escrow_utxo` ON `escrow` (`source_id`,`utxo`) WHERE utxo IS NOT NULL;--> statement-breakpoint
CREATE INDEX `escrow_initiated` ON `escrow` (`source_id`) WHERE requested_action GLOB '*Initiated';--> statement-breakpoint
CREATE INDEX `escrow_due` ON `escrow` (`network`,`wallet_vkey`,`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `escrow_intent` ON `escrow` (`network`,`id`) WHERE intent IS NOT NULL;--> statement-breakpoint
CREATE INDEX `escrow_deadline` ON `escrow` (`source_id`,`deadline`) WHERE deadline IS NOT NULL;--> statement-breakpoint
CREATE INDEX `escrow_unlocked` ON `escrow` (`source_id`,CAST(pay_by_time AS INTEGER)) WHERE on_chain_state IS NULL AND expired_at IS NULL;--> statement-breakpoint
CREATE INDEX `escrow_held` ON `escrow` (`network`,`id`) WHERE charge = 'held' AND expired_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `escrow_bulky` ON `escrow` (`network`,`source_id`) WHERE output_length > 8000;--> statement-breakpoint
CREATE INDEX `escrow_final` ON `escrow` (`network`,`changed_at`) WHERE requested_action = 'None' AND error_type IS NULL AND pending_hash IS NULL
  AND utxo IS NULL AND output_length IS NULL AND due_at IS NULL AND deadline IS NULL
  AND wallet_removed IS NULL
  AND (charge IS NOT 'held' OR expired_at IS NULL);--> statement-breakpoint
CREATE INDEX `escrow_unfinished` ON `escrow` (`source_id`) WHERE CASE WHEN on_chain_state IS NULL THEN expired_at IS NULL
  ELSE on_chain_state NOT IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn') END;--> statement-breakpoint
CREATE INDEX `escrow_wallet_removed` ON `escrow` (`source_id`) WHERE wallet_removed IS NOT NULL;--> statement-breakpoint
CREATE INDEX `escrow_ended` ON `escrow` (`side`,`network`,`block_time`) WHERE on_chain_state IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn');--> statement-breakpoint
CREATE INDEX `escrow_agent_ended` ON `escrow` (`side`,`network`,`agent_identifier`,`block_time`) WHERE on_chain_state IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn');--> statement-breakpoint
CREATE INDEX `escrow_billed` ON `escrow` (`network`,(CASE WHEN lock IS NULL THEN NULL
  WHEN lock->>'buyerVkey' IS NULL THEN buyer_vkey ELSE lock->>'buyerVkey' END),(CASE on_chain_state WHEN 'ResultSubmitted' THEN CAST(unlock_time AS INTEGER) ELSE block_time * 1000 END)) WHERE side = 'payment' AND on_chain_state IN ('Withdrawn', 'ResultSubmitted', 'DisputedWithdrawn');--> statement-breakpoint
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
CREATE TABLE `escrow_identity` (
	`identifier_hash` blob NOT NULL,
	`side` text NOT NULL,
	`source_id` text NOT NULL,
	`id` text NOT NULL,
	`archive` integer,
	PRIMARY KEY(`identifier_hash`, `side`, `source_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `escrow_open` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`revision` integer NOT NULL,
	`doc_version` integer NOT NULL,
	`doc` text NOT NULL,
	`output` text,
	`pending_transaction` text
);
--> statement-breakpoint
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
CREATE UNIQUE INDEX `escrow_request_purchase` ON `escrow_request` (`purchase_of`);--> statement-breakpoint
CREATE INDEX `escrow_request_metadata` ON `escrow_request` (`requested_by_id`,`record_id`) WHERE metadata IS NOT NULL;--> statement-breakpoint
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
CREATE TABLE `escrow_undo` (
	`source_id` text NOT NULL,
	`block_height` integer NOT NULL,
	`tx_index` integer NOT NULL,
	`record_id` text NOT NULL,
	`tx_hash` text NOT NULL,
	`block_time` integer,
	`data` text NOT NULL,
	PRIMARY KEY(`source_id`, `block_height`, `tx_index`, `record_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `event` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`kind` text NOT NULL,
	`network` text NOT NULL,
	`source_id` text,
	`owner_id` text,
	`wallet_ids` text,
	`record_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`data` text NOT NULL,
	`created_at` integer NOT NULL,
	`dispatch_error` text
);
--> statement-breakpoint
CREATE INDEX `event_set_aside` ON `event` (`seq`) WHERE dispatch_error IS NOT NULL;--> statement-breakpoint
CREATE TABLE `event_cursor` (
	`id` integer PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `incident` (
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`since` integer NOT NULL,
	`over_at` integer,
	`sequence` integer NOT NULL,
	`last_op` text NOT NULL,
	PRIMARY KEY(`kind`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `incident_open` ON `incident` (`kind`) WHERE over_at IS NULL;--> statement-breakpoint
CREATE TABLE `inbox_registration` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`source_id` text NOT NULL,
	`policy_id` text NOT NULL,
	`source_url` text,
	`agent_identifier` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`agent_slug` text NOT NULL,
	`provider_url` text,
	`metadata_version` integer NOT NULL,
	`status` text NOT NULL,
	`linked_email` text,
	`encryption_public_key` text,
	`encryption_key_version` text,
	`signing_public_key` text,
	`signing_key_version` text,
	`minted_height` integer,
	`burned_height` integer,
	`due_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`status_updated_at` integer NOT NULL,
	`revision` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `inbox_registration_token` ON `inbox_registration` (`agent_identifier`,`source_id`);--> statement-breakpoint
CREATE INDEX `inbox_registration_changed` ON `inbox_registration` (`network`,`status_updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `inbox_registration_newest` ON `inbox_registration` (`network`,`id`);--> statement-breakpoint
CREATE INDEX `inbox_registration_slug` ON `inbox_registration` (`agent_slug`,`network`,`id`);--> statement-breakpoint
CREATE INDEX `inbox_registration_due` ON `inbox_registration` (`network`,`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `inbox_registration_minted` ON `inbox_registration` (`source_id`,`minted_height`);--> statement-breakpoint
CREATE INDEX `inbox_registration_burned` ON `inbox_registration` (`source_id`,`burned_height`) WHERE burned_height IS NOT NULL;--> statement-breakpoint
CREATE TABLE `invoice_base` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`buyer_vkey` text NOT NULL,
	`seller_vkey` text NOT NULL,
	`month` text NOT NULL,
	`version` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `invoice_base_subject` ON `invoice_base` (`network`,`buyer_vkey`,`month`,`seller_vkey`);--> statement-breakpoint
CREATE INDEX `invoice_base_month` ON `invoice_base` (`network`,`month`,`id`);--> statement-breakpoint
CREATE TABLE `invoice_document` (
	`id` text PRIMARY KEY NOT NULL,
	`base_id` text NOT NULL,
	`kind` text NOT NULL,
	`revision` integer NOT NULL,
	`network` text NOT NULL,
	`seller_vkey` text NOT NULL,
	`year` integer NOT NULL,
	`sequence` integer NOT NULL,
	`number` text NOT NULL,
	`content` text NOT NULL,
	`fingerprint` text NOT NULL,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`pdf` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `invoice_document_revision` ON `invoice_document` (`base_id`,`revision`,`kind`);--> statement-breakpoint
CREATE UNIQUE INDEX `invoice_document_number` ON `invoice_document` (`network`,`seller_vkey`,`year`,`sequence`);--> statement-breakpoint
CREATE TABLE `invoice_rate` (
	`month` text NOT NULL,
	`currency` text NOT NULL,
	`unit` text NOT NULL,
	`rate` text NOT NULL,
	`source` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`month`, `currency`, `unit`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `invoice_series` (
	`network` text NOT NULL,
	`seller_vkey` text NOT NULL,
	`year` integer NOT NULL,
	`last` integer NOT NULL,
	PRIMARY KEY(`network`, `seller_vkey`, `year`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `invoiced_payment` (
	`identifier_hash` text NOT NULL,
	`network` text NOT NULL,
	`contract_address` text NOT NULL,
	`base_id` text NOT NULL,
	PRIMARY KEY(`identifier_hash`, `network`, `contract_address`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `invoiced_payment_base` ON `invoiced_payment` (`base_id`);--> statement-breakpoint
CREATE TABLE `registration` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`network` text NOT NULL,
	`source_id` text NOT NULL,
	`source_type` text NOT NULL,
	`contract_address` text NOT NULL,
	`policy_id` text NOT NULL,
	`profile` text NOT NULL,
	`name` text NOT NULL,
	`state` text NOT NULL,
	`state_changed_at` integer NOT NULL,
	`error` text,
	`agent_identifier` text,
	`wallet` text NOT NULL,
	`wallet_vkey` text NOT NULL,
	`recipient` text,
	`send_funding` text,
	`funding_charged` text,
	`seed` text,
	`tx` text,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`last_checked_at` integer,
	`revision` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `registration_newest` ON `registration` (`kind`,`network`,`id`);--> statement-breakpoint
CREATE INDEX `registration_changed` ON `registration` (`kind`,`network`,`state_changed_at`,`id`);--> statement-breakpoint
CREATE INDEX `registration_identifier` ON `registration` (`agent_identifier`,`network`,`kind`,`id`);--> statement-breakpoint
CREATE INDEX `registration_failed` ON `registration` (`network`,`kind`) WHERE state GLOB '*Failed';--> statement-breakpoint
CREATE TABLE `registry_cursor` (
	`source_id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`version` integer NOT NULL,
	`last_op` text,
	`recent` text NOT NULL,
	`tip_hash` text,
	`last_checked_at` integer,
	`error` text,
	`removed_at` integer
);
--> statement-breakpoint
CREATE TABLE `registry_entry` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`source_id` text NOT NULL,
	`policy_id` text NOT NULL,
	`source_url` text,
	`agent_identifier` text NOT NULL,
	`state` text NOT NULL,
	`health` text NOT NULL,
	`status` text NOT NULL,
	`api_base_url` text NOT NULL,
	`payment_type` text NOT NULL,
	`tags` text NOT NULL,
	`capability_id` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`status_updated_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`doc_version` integer NOT NULL,
	`doc` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `registry_entry_changed` ON `registry_entry` (`network`,`status_updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `registry_entry_newest` ON `registry_entry` (`network`,`status`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `registry_entry_token` ON `registry_entry` (`agent_identifier`,`source_id`);--> statement-breakpoint
CREATE INDEX `registry_entry_source` ON `registry_entry` (`source_id`,`id`);--> statement-breakpoint
CREATE INDEX `registry_entry_capability` ON `registry_entry` (`network`,`capability_id`,`id`) WHERE status = 'Online' AND capability_id IS NOT NULL;--> statement-breakpoint
CREATE TABLE `registry_health` (
	`source_id` text NOT NULL,
	`entry_id` text NOT NULL,
	`due_at` integer,
	`checks` integer NOT NULL,
	`successes` integer NOT NULL,
	`failures` integer NOT NULL,
	`last_check_at` integer,
	`last_check_error` text,
	PRIMARY KEY(`source_id`, `entry_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `registry_source` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`policy_id` text NOT NULL,
	`url` text,
	`note` text,
	`rpc_provider_api_key` text NOT NULL,
	`rpc_providers` text,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `registry_source_policy` ON `registry_source` (`network`,`policy_id`) WHERE deleted_at IS NULL;--> statement-breakpoint
CREATE TABLE `registry_step` (
	`source_id` text NOT NULL,
	`block_height` integer NOT NULL,
	`tx_index` integer NOT NULL,
	`tx_hash` text NOT NULL,
	`entry_id` text NOT NULL,
	`before` text NOT NULL,
	PRIMARY KEY(`source_id`, `block_height`, `tx_index`, `tx_hash`, `entry_id`)
) WITHOUT ROWID;
--> statement-breakpoint
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
	`rpc_providers` text,
	`drives` text DEFAULT 'nothing' NOT NULL,
	`auto_withdraw_payments` integer,
	`auto_withdraw_refunds` integer,
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
	`backfill` text,
	`tip_hash` text,
	`last_checked_at` integer,
	`lease_until` integer,
	`error` text
);
--> statement-breakpoint
CREATE TABLE `unit` (
	`unit` text PRIMARY KEY NOT NULL,
	`ticker` text NOT NULL,
	`decimals` integer NOT NULL,
	`updated_by_id` text NOT NULL,
	`updated_at` integer NOT NULL
);
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
	`drives` text DEFAULT 'nothing' NOT NULL,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `managed_wallet_vkey` ON `managed_wallet` (`network`,`vkey`) WHERE deleted_at IS NULL;--> statement-breakpoint
CREATE INDEX `managed_wallet_source` ON `managed_wallet` (`source_id`,`role`);--> statement-breakpoint
CREATE INDEX `managed_wallet_retained` ON `managed_wallet` (`network`) WHERE deleted_at IS NOT NULL AND mnemonic <> '';--> statement-breakpoint
CREATE TABLE `hot_wallet` (
	`network` text NOT NULL,
	`vkey` text NOT NULL,
	`version` integer NOT NULL,
	`last_op` text,
	`chain_root` text,
	`collateral` text,
	`sequence` integer NOT NULL,
	`spent_elsewhere` text,
	`blocker` text,
	`blocker_code` text,
	`blocked_since` integer,
	PRIMARY KEY(`network`, `vkey`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `hot_wallet_blocked` ON `hot_wallet` (`network`,`blocked_since`) WHERE blocked_since IS NOT NULL;--> statement-breakpoint
CREATE TABLE `wallet_transaction` (
	`hash` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`wallet_vkey` text NOT NULL,
	`source_id` text NOT NULL,
	`phase` text NOT NULL,
	`sequence` integer NOT NULL,
	`tasks` text NOT NULL,
	`fee` text NOT NULL,
	`valid_to` integer NOT NULL,
	`block_height` integer,
	`block_hash` text,
	`block_time` integer,
	`over_height` integer,
	`error` text,
	`request_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`due_at` integer
);
--> statement-breakpoint
CREATE INDEX `wallet_transaction_open` ON `wallet_transaction` (`network`,`wallet_vkey`,`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `wallet_transaction_newest` ON `wallet_transaction` (`network`,`created_at`);--> statement-breakpoint
CREATE INDEX `wallet_transaction_of_wallet` ON `wallet_transaction` (`network`,`wallet_vkey`,`created_at`);--> statement-breakpoint
CREATE TABLE `wallet_transaction_content` (
	`hash` text PRIMARY KEY NOT NULL,
	`content` text NOT NULL,
	`cbor` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `wallet_task` (
	`feature` text NOT NULL,
	`subject_id` text NOT NULL,
	`id` text NOT NULL,
	`network` text NOT NULL,
	`wallet_vkey` text NOT NULL,
	`source_id` text NOT NULL,
	`requested_at` integer NOT NULL,
	`due_at` integer,
	`attempts` integer NOT NULL,
	`reason_code` text,
	`reason` text,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`feature`, `subject_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `wallet_task_due` ON `wallet_task` (`network`,`wallet_vkey`,`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `reference_script` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`source_id` text NOT NULL,
	`wallet_vkey` text NOT NULL,
	`wallet_address` text NOT NULL,
	`script_hash` text NOT NULL,
	`cbor` text NOT NULL,
	`state` text NOT NULL,
	`output` text,
	`deposit` text,
	`tx_hash` text,
	`error` text,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `reference_script_of_source` ON `reference_script` (`source_id`) WHERE state NOT IN ('Withdrawn', 'Failed');--> statement-breakpoint
CREATE TABLE `low_balance_rule` (
	`id` text PRIMARY KEY NOT NULL,
	`wallet_id` text NOT NULL,
	`unit` text NOT NULL,
	`enabled` integer NOT NULL,
	`balance` text,
	`checked_at` integer,
	`due_at` integer NOT NULL,
	`version` integer NOT NULL,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`threshold` text NOT NULL,
	`status` text NOT NULL,
	`sequence` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `low_balance_rule_unit` ON `low_balance_rule` (`wallet_id`,`unit`);--> statement-breakpoint
CREATE INDEX `low_balance_rule_due` ON `low_balance_rule` (`due_at`) WHERE enabled = 1;--> statement-breakpoint
CREATE TABLE `top_up_rule` (
	`id` text PRIMARY KEY NOT NULL,
	`wallet_id` text NOT NULL,
	`unit` text NOT NULL,
	`enabled` integer NOT NULL,
	`balance` text,
	`checked_at` integer,
	`due_at` integer NOT NULL,
	`version` integer NOT NULL,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`below` text NOT NULL,
	`up_to` text NOT NULL,
	`per_day` text,
	`waits_for` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `top_up_rule_unit` ON `top_up_rule` (`wallet_id`,`unit`);--> statement-breakpoint
CREATE INDEX `top_up_rule_due` ON `top_up_rule` (`due_at`) WHERE enabled = 1;--> statement-breakpoint
CREATE TABLE `transfer` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`source_id` text NOT NULL,
	`wallet_id` text NOT NULL,
	`wallet_vkey` text NOT NULL,
	`wallet_address` text NOT NULL,
	`to_address` text NOT NULL,
	`coin` text NOT NULL,
	`assets` text NOT NULL,
	`top_up_rule_id` text,
	`top_up_wallet_id` text,
	`state` text NOT NULL,
	`error` text,
	`tx` text,
	`event_counts` text NOT NULL,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`last_checked_at` integer,
	`revision` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `transfer_newest` ON `transfer` (`network`,`id`);--> statement-breakpoint
CREATE INDEX `transfer_wallet` ON `transfer` (`wallet_id`,`id`);--> statement-breakpoint
CREATE INDEX `transfer_address` ON `transfer` (`wallet_address`,`id`);--> statement-breakpoint
CREATE INDEX `transfer_top_up` ON `transfer` (`top_up_wallet_id`,`updated_at`) WHERE top_up_wallet_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `transfer_top_up_open` ON `transfer` (`top_up_wallet_id`) WHERE top_up_wallet_id IS NOT NULL AND state IN ('Pending', 'Sent');--> statement-breakpoint
CREATE TABLE `webhook_delivery` (
	`endpoint_id` text NOT NULL,
	`event_id` text NOT NULL,
	`event_seq` integer NOT NULL,
	`kind` text NOT NULL,
	`network` text NOT NULL,
	`source_id` text,
	`owner_id` text,
	`wallet_ids` text,
	`record_id` text NOT NULL,
	`status` text NOT NULL,
	`attempt` integer NOT NULL,
	`failed_attempts` integer NOT NULL,
	`due_at` integer,
	`claimed_until` integer NOT NULL,
	`last_attempt_at` integer,
	`response_status` integer,
	`error` text,
	`duration_ms` integer,
	`attempt_log` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`endpoint_id`, `event_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `webhook_delivery_due` ON `webhook_delivery` (`endpoint_id`,`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `webhook_delivery_record` ON `webhook_delivery` (`record_id`,`event_id`,`endpoint_id`) WHERE (kind GLOB 'PAYMENT_*' OR kind GLOB 'PURCHASE_*');--> statement-breakpoint
CREATE TABLE `webhook_endpoint` (
	`id` text PRIMARY KEY NOT NULL,
	`url` text NOT NULL,
	`target_hash` text NOT NULL,
	`name` text NOT NULL,
	`format` text NOT NULL,
	`events` text NOT NULL,
	`source_id` text,
	`auth_token` text,
	`secret` text NOT NULL,
	`previous_secret` text,
	`previous_secret_until` integer,
	`is_active` integer NOT NULL,
	`failure_count` integer NOT NULL,
	`last_success_at` integer,
	`disabled_at` integer,
	`disabled_reason` text,
	`timeouts` integer DEFAULT 0 NOT NULL,
	`silent_since` integer,
	`paused_until` integer,
	`enqueued_until` integer,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `webhook_endpoint_target` ON `webhook_endpoint` (`target_hash`) WHERE deleted_at IS NULL;--> statement-breakpoint
CREATE INDEX `webhook_endpoint_disabled` ON `webhook_endpoint` (`disabled_at`) WHERE disabled_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `webhook_subscription` (
	`kind` text NOT NULL,
	`source_id` text NOT NULL,
	`audience` text NOT NULL,
	`endpoint_id` text NOT NULL,
	PRIMARY KEY(`kind`, `source_id`, `audience`, `endpoint_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `webhook_subscription_endpoint` ON `webhook_subscription` (`endpoint_id`);--> statement-breakpoint
CREATE TABLE `worker_bot` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`version_id` text NOT NULL,
	`status` text NOT NULL,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `worker_bot_version_bots` ON `worker_bot` (`version_id`,`id`);--> statement-breakpoint
CREATE TABLE `worker_bot_lock` (
	`name` text PRIMARY KEY NOT NULL,
	`migration_id` text NOT NULL,
	`lease_until` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `worker_bot_migration` (
	`id` text PRIMARY KEY NOT NULL,
	`to_version_id` text NOT NULL,
	`from_version_id` text,
	`reason` text NOT NULL,
	`requested_by_id` text NOT NULL,
	`request_id` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `worker_bot_move` (
	`id` text PRIMARY KEY NOT NULL,
	`migration_id` text NOT NULL,
	`worker_bot_id` text NOT NULL,
	`from_version_id` text NOT NULL,
	`outcome` text NOT NULL,
	`message` text,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `worker_bot_move_bot` ON `worker_bot_move` (`worker_bot_id`,`id`);--> statement-breakpoint
CREATE INDEX `worker_bot_move_failed` ON `worker_bot_move` (`id`) WHERE outcome = 'Failed';--> statement-breakpoint
CREATE TABLE `worker_bot_version` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`summary` text,
	`status` text NOT NULL,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
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
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `x402_attempt_api_key` ON `x402_payment_attempt` (`api_key_id`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `x402_attempt_identifier` ON `x402_payment_attempt` (`api_key_id`,`payer`,`payment_identifier`) WHERE direction = 'InboundSettle' AND status IN ('Verified', 'Settled') AND payment_identifier IS NOT NULL;--> statement-breakpoint
CREATE INDEX `x402_attempt_open` ON `x402_payment_attempt` (`updated_at`) WHERE direction = 'InboundSettle' AND status = 'Verified';--> statement-breakpoint
CREATE INDEX `x402_attempt_watched` ON `x402_payment_attempt` (`caip2_id`,`id`) WHERE watched_until IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `x402_attempt_signed_once` ON `x402_payment_attempt` (`api_key_id`,`payment_identifier`) WHERE direction = 'OutboundPayment' AND payment_identifier IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `x402_attempt_hash` ON `x402_payment_attempt` (`payment_payload_hash`) WHERE direction = 'InboundSettle' AND status IN ('Verified', 'Settled');--> statement-breakpoint
CREATE UNIQUE INDEX `x402_attempt_claim` ON `x402_payment_attempt` (`claim`) WHERE direction = 'InboundSettle' AND status IN ('Verified', 'Settled');--> statement-breakpoint
CREATE TABLE `x402_balance_rule` (
	`id` text PRIMARY KEY NOT NULL,
	`wallet_id` text NOT NULL,
	`unit` text NOT NULL,
	`enabled` integer NOT NULL,
	`balance` text,
	`checked_at` integer,
	`due_at` integer NOT NULL,
	`version` integer NOT NULL,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`threshold` text NOT NULL,
	`status` text NOT NULL,
	`sequence` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `x402_balance_rule_unit` ON `x402_balance_rule` (`wallet_id`,`unit`);--> statement-breakpoint
CREATE INDEX `x402_balance_rule_due` ON `x402_balance_rule` (`due_at`) WHERE enabled = 1;--> statement-breakpoint
CREATE TABLE `x402_budget` (
	`id` text PRIMARY KEY NOT NULL,
	`api_key_id` text NOT NULL,
	`evm_wallet_id` text NOT NULL,
	`asset` text NOT NULL,
	`remaining_amount` text NOT NULL,
	`spent_amount` text NOT NULL,
	`is_enabled` integer NOT NULL,
	`created_by_id` text NOT NULL,
	`revision` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `x402_budget_scope` ON `x402_budget` (`api_key_id`,`evm_wallet_id`,`asset`);--> statement-breakpoint
CREATE TABLE `x402_network` (
	`id` text PRIMARY KEY NOT NULL,
	`caip2_id` text NOT NULL,
	`display_name` text NOT NULL,
	`rpc_url` text NOT NULL,
	`is_testnet` integer NOT NULL,
	`is_enabled` integer NOT NULL,
	`default_asset` text,
	`default_asset_decimals` integer,
	`facilitator_wallet_id` text,
	`facilitator_url` text,
	`facilitator_auth` text,
	`other_facilitator_wallet_ids` text DEFAULT '[]' NOT NULL,
	`max_sponsored_gwei_per_payer` integer,
	`max_sponsored_gwei_per_day` integer,
	`eip6492_factories` text NOT NULL,
	`created_by_id` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `x402_network_caip2` ON `x402_network` (`caip2_id`);--> statement-breakpoint
CREATE TABLE `x402_payment_source` (
	`id` text PRIMARY KEY NOT NULL,
	`url` text,
	`description` text,
	`scheme` text DEFAULT 'exact' NOT NULL,
	`caip2_id` text NOT NULL,
	`asset` text NOT NULL,
	`amount` text,
	`pay_to` text NOT NULL,
	`max_timeout_seconds` integer NOT NULL,
	`asset_name` text,
	`asset_version` text,
	`asset_decimals` integer NOT NULL,
	`registry_request_id` text,
	`discovery` text,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE INDEX `x402_payment_source_listed` ON `x402_payment_source` (`id`) WHERE discovery IS NOT NULL AND deleted_at IS NULL;--> statement-breakpoint
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
CREATE INDEX `x402_settlement_api_key` ON `x402_settlement` (`api_key_id`,`id`);--> statement-breakpoint
CREATE TABLE `x402_sponsored_gas` (
	`attempt_id` text PRIMARY KEY NOT NULL,
	`caip2_id` text NOT NULL,
	`asset` text NOT NULL,
	`payer` text NOT NULL,
	`day` integer NOT NULL,
	`gwei` integer NOT NULL,
	`wei` text,
	`is_open` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `x402_sponsored_gas_day` ON `x402_sponsored_gas` (`caip2_id`,`day`,`payer`,`gwei`);--> statement-breakpoint
CREATE UNIQUE INDEX `x402_sponsored_gas_open` ON `x402_sponsored_gas` (`caip2_id`,`asset`,`payer`) WHERE is_open = 1;--> statement-breakpoint
CREATE INDEX `x402_sponsored_gas_unknown` ON `x402_sponsored_gas` (`attempt_id`) WHERE wei IS NULL AND is_open = 0;--> statement-breakpoint
CREATE TABLE `x402_wallet` (
	`id` text PRIMARY KEY NOT NULL,
	`caip2_id` text NOT NULL,
	`address` text NOT NULL,
	`type` text NOT NULL,
	`private_key` text NOT NULL,
	`was_facilitator` integer DEFAULT false NOT NULL,
	`note` text,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `x402_wallet_address` ON `x402_wallet` (`caip2_id`,`address`) WHERE deleted_at IS NULL;--> statement-breakpoint
CREATE TRIGGER webhook_subscription_insert AFTER INSERT ON webhook_endpoint BEGIN
   INSERT OR IGNORE INTO webhook_subscription (kind, source_id, audience, endpoint_id)
   SELECT subscribed.value, ifnull(e.source_id, ''), audience.value, e.id
   FROM webhook_endpoint e LEFT JOIN api_key k ON k.id = e.created_by_id, json_each(e.events) AS subscribed, json_each(CASE WHEN e.created_by_id = 'env-admin' OR k.permission = 'Admin' THEN json_array('admin')
    ELSE json_insert((SELECT json_group_array(iif(k.wallet_limit IS NULL, 'network:', 'wallet:') || scope.value)
      FROM json_each(ifnull(k.wallet_limit, k.network_limit)) AS scope), '$[#]', 'key:' || k.id) END) AS audience
   WHERE e.is_active AND e.deleted_at IS NULL AND e.id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER webhook_subscription_update AFTER UPDATE OF events, source_id, is_active, created_by_id, deleted_at ON webhook_endpoint
WHEN old.events IS NOT new.events OR old.source_id IS NOT new.source_id OR old.is_active IS NOT new.is_active OR old.created_by_id IS NOT new.created_by_id OR old.deleted_at IS NOT new.deleted_at BEGIN
   DELETE FROM webhook_subscription WHERE endpoint_id = old.id;
   INSERT OR IGNORE INTO webhook_subscription (kind, source_id, audience, endpoint_id)
   SELECT subscribed.value, ifnull(e.source_id, ''), audience.value, e.id
   FROM webhook_endpoint e LEFT JOIN api_key k ON k.id = e.created_by_id, json_each(e.events) AS subscribed, json_each(CASE WHEN e.created_by_id = 'env-admin' OR k.permission = 'Admin' THEN json_array('admin')
    ELSE json_insert((SELECT json_group_array(iif(k.wallet_limit IS NULL, 'network:', 'wallet:') || scope.value)
      FROM json_each(ifnull(k.wallet_limit, k.network_limit)) AS scope), '$[#]', 'key:' || k.id) END) AS audience
   WHERE e.is_active AND e.deleted_at IS NULL AND e.id = new.id;
END;
--> statement-breakpoint
CREATE TRIGGER webhook_subscription_delete AFTER DELETE ON webhook_endpoint BEGIN
   DELETE FROM webhook_subscription WHERE endpoint_id = old.id;
END;
--> statement-breakpoint
CREATE TRIGGER webhook_subscription_key AFTER UPDATE OF permission, network_limit, wallet_limit ON api_key
WHEN old.permission IS NOT new.permission OR old.network_limit IS NOT new.network_limit OR old.wallet_limit IS NOT new.wallet_limit BEGIN
   DELETE FROM webhook_subscription WHERE endpoint_id IN (SELECT id FROM webhook_endpoint WHERE created_by_id = new.id);
   INSERT OR IGNORE INTO webhook_subscription (kind, source_id, audience, endpoint_id)
   SELECT subscribed.value, ifnull(e.source_id, ''), audience.value, e.id
   FROM webhook_endpoint e LEFT JOIN api_key k ON k.id = e.created_by_id, json_each(e.events) AS subscribed, json_each(CASE WHEN e.created_by_id = 'env-admin' OR k.permission = 'Admin' THEN json_array('admin')
    ELSE json_insert((SELECT json_group_array(iif(k.wallet_limit IS NULL, 'network:', 'wallet:') || scope.value)
      FROM json_each(ifnull(k.wallet_limit, k.network_limit)) AS scope), '$[#]', 'key:' || k.id) END) AS audience
   WHERE e.is_active AND e.deleted_at IS NULL AND e.created_by_id = new.id;
END;