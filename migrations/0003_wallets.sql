CREATE TABLE `hot_wallet` (
	`network` text NOT NULL,
	`vkey` text NOT NULL,
	`version` integer NOT NULL,
	`last_op` text,
	`line_root` text,
	`collateral` text,
	`sequence` integer NOT NULL,
	PRIMARY KEY(`network`, `vkey`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `wallet_transaction` (
	`hash` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`wallet_vkey` text NOT NULL,
	`source_id` text NOT NULL,
	`phase` text NOT NULL,
	`sequence` integer NOT NULL,
	`cbor` text,
	`content` text NOT NULL,
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
CREATE INDEX `wallet_transaction_open` ON `wallet_transaction` (`network`,`wallet_vkey`,`due_at`) WHERE due_at IS NOT NULL;