CREATE TABLE `__new_escrow_transaction` (
	`record_id` text NOT NULL,
	`tx_hash` text NOT NULL,
	`id` text NOT NULL,
	`source_id` text NOT NULL,
	`status` text NOT NULL,
	`block_height` integer,
	`tx_index` integer,
	`before` text,
	`fields` text NOT NULL,
	`doc` text NOT NULL,
	`want` text,
	PRIMARY KEY(`record_id`, `tx_hash`)
);
--> statement-breakpoint
INSERT INTO `__new_escrow_transaction`("record_id", "tx_hash", "id", "source_id", "status", "block_height", "tx_index", "before", "fields", "doc") SELECT "record_id", "tx_hash", "id", "source_id", "status", "block_height", "tx_index", "before", "fields", "doc" FROM `escrow_transaction`;--> statement-breakpoint
DROP TABLE `escrow_transaction`;--> statement-breakpoint
ALTER TABLE `__new_escrow_transaction` RENAME TO `escrow_transaction`;--> statement-breakpoint
CREATE INDEX `escrow_transaction_height` ON `escrow_transaction` (`source_id`,`block_height`);--> statement-breakpoint
CREATE INDEX `escrow_transaction_newest` ON `escrow_transaction` (`record_id`,`id`);--> statement-breakpoint
ALTER TABLE `escrow` ADD `output` text;--> statement-breakpoint
ALTER TABLE `escrow` ADD `want` text;--> statement-breakpoint
ALTER TABLE `escrow` ADD `under_way` text;--> statement-breakpoint
ALTER TABLE `escrow` ADD `error` text;--> statement-breakpoint
ALTER TABLE `escrow` ADD `expired_at` integer;--> statement-breakpoint
ALTER TABLE `escrow` ADD `charge` text;--> statement-breakpoint
ALTER TABLE `escrow` ADD `wallet` text;--> statement-breakpoint
ALTER TABLE `escrow` ADD `due_at` integer;--> statement-breakpoint
CREATE INDEX `escrow_due` ON `escrow` (`network`,wallet->>'vkey',`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `escrow_billed` ON `escrow` (`network`,(CASE WHEN state->'lock'->>'buyerVkey' IS NULL THEN terms->>'buyerVkey' ELSE state->'lock'->>'buyerVkey' END),(CASE on_chain_state WHEN 'ResultSubmitted' THEN CAST(terms->>'unlockTime' AS INTEGER) ELSE (state->'transaction'->>'blockTime') * 1000 END)) WHERE side = 'payment' AND on_chain_state IN ('Withdrawn', 'ResultSubmitted', 'DisputedWithdrawn');