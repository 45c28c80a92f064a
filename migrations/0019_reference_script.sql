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
	`failures` integer NOT NULL,
	`due_at` integer,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`rev` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `reference_script_of_source` ON `reference_script` (`source_id`) WHERE state NOT IN ('Withdrawn', 'Failed');--> statement-breakpoint
CREATE INDEX `reference_script_open` ON `reference_script` (`network`,`wallet_vkey`,`due_at`) WHERE due_at IS NOT NULL;