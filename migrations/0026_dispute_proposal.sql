CREATE TABLE `dispute_proposal` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`source_id` text NOT NULL,
	`identifier_hash` text NOT NULL,
	`output` text NOT NULL,
	`wallet_vkey` text NOT NULL,
	`split` text NOT NULL,
	`message` text NOT NULL,
	`administrators` text NOT NULL,
	`required` integer NOT NULL,
	`signatures` text NOT NULL,
	`opens_at` integer NOT NULL,
	`state` text NOT NULL,
	`tx_hash` text,
	`error` text,
	`failures` integer NOT NULL,
	`due_at` integer,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`rev` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `dispute_proposal_standing` ON `dispute_proposal` (`source_id`,output->>'utxo') WHERE state NOT IN ('Replaced', 'Failed');--> statement-breakpoint
CREATE INDEX `dispute_proposal_open` ON `dispute_proposal` (`network`,`wallet_vkey`,`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `dispute_proposal_escrow` ON `dispute_proposal` (`identifier_hash`,`id`);