-- Kept in the order of their ids alone, which saves a row for each that is written.
CREATE TABLE `__new_x402_payment_attempt` (
	`id` text PRIMARY KEY NOT NULL,
	`direction` text NOT NULL,
	`status` text NOT NULL,
	`api_key_id` text,
	`evm_wallet_id` text,
	`registry_request_id` text,
	`supported_payment_source_id` text,
	`caip2_id` text NOT NULL,
	`asset` text NOT NULL,
	`amount` text NOT NULL,
	`pay_to` text NOT NULL,
	`payer` text,
	`resource` text,
	`payment_payload_hash` text NOT NULL,
	`claim` text,
	`payment_identifier` text,
	`error_reason` text,
	`error_message` text,
	`replay_of` text,
	`charged` integer NOT NULL,
	`version` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;--> statement-breakpoint
INSERT INTO `__new_x402_payment_attempt` (`id`, `direction`, `status`, `api_key_id`, `evm_wallet_id`, `registry_request_id`, `supported_payment_source_id`, `caip2_id`, `asset`, `amount`, `pay_to`, `payer`, `resource`, `payment_payload_hash`, `claim`, `payment_identifier`, `error_reason`, `error_message`, `replay_of`, `charged`, `version`, `created_at`, `updated_at`) SELECT `id`, `direction`, `status`, `api_key_id`, `evm_wallet_id`, `registry_request_id`, `supported_payment_source_id`, `caip2_id`, `asset`, `amount`, `pay_to`, `payer`, `resource`, `payment_payload_hash`, `claim`, `payment_identifier`, `error_reason`, `error_message`, `replay_of`, `charged`, `version`, `created_at`, `updated_at` FROM `x402_payment_attempt`;--> statement-breakpoint
DROP TABLE `x402_payment_attempt`;--> statement-breakpoint
ALTER TABLE `__new_x402_payment_attempt` RENAME TO `x402_payment_attempt`;--> statement-breakpoint
CREATE INDEX `x402_attempt_api_key` ON `x402_payment_attempt` (`api_key_id`,`id`);--> statement-breakpoint
CREATE INDEX `x402_attempt_open` ON `x402_payment_attempt` (`updated_at`) WHERE direction = 'InboundSettle' AND status = 'Verified';--> statement-breakpoint
CREATE UNIQUE INDEX `x402_attempt_signed_once` ON `x402_payment_attempt` (`api_key_id`,`payment_identifier`) WHERE direction = 'OutboundPayment' AND payment_identifier IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `x402_attempt_hash` ON `x402_payment_attempt` (`payment_payload_hash`) WHERE direction = 'InboundSettle' AND status IN ('Verified', 'Settled');--> statement-breakpoint
CREATE UNIQUE INDEX `x402_attempt_claim` ON `x402_payment_attempt` (`claim`) WHERE direction = 'InboundSettle' AND status IN ('Verified', 'Settled');--> statement-breakpoint
CREATE UNIQUE INDEX `x402_attempt_identifier` ON `x402_payment_attempt` (`api_key_id`,`payment_identifier`) WHERE direction = 'InboundSettle' AND status IN ('Verified', 'Settled') AND payment_identifier IS NOT NULL;--> statement-breakpoint
CREATE TABLE `__new_x402_settlement` (
	`id` text PRIMARY KEY NOT NULL,
	`attempt_id` text NOT NULL,
	`api_key_id` text NOT NULL,
	`success` integer NOT NULL,
	`tx_hash` text NOT NULL,
	`amount` text NOT NULL,
	`payer` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;--> statement-breakpoint
INSERT INTO `__new_x402_settlement` (`id`, `attempt_id`, `api_key_id`, `success`, `tx_hash`, `amount`, `payer`, `created_at`) SELECT `id`, `attempt_id`, `api_key_id`, `success`, `tx_hash`, `amount`, `payer`, `created_at` FROM `x402_settlement`;--> statement-breakpoint
DROP TABLE `x402_settlement`;--> statement-breakpoint
ALTER TABLE `__new_x402_settlement` RENAME TO `x402_settlement`;--> statement-breakpoint
CREATE UNIQUE INDEX `x402_settlement_attempt` ON `x402_settlement` (`attempt_id`);--> statement-breakpoint
CREATE INDEX `x402_settlement_api_key` ON `x402_settlement` (`api_key_id`,`id`);
