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
	`told` text NOT NULL,
	`failures` integer NOT NULL,
	`due_at` integer,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`last_checked_at` integer,
	`rev` integer NOT NULL,
	`last_op` text
);
--> statement-breakpoint
CREATE INDEX `transfer_wallet` ON `transfer` (`wallet_id`,`id`);--> statement-breakpoint
CREATE INDEX `transfer_address` ON `transfer` (`wallet_address`,`id`);--> statement-breakpoint
CREATE INDEX `transfer_top_up` ON `transfer` (`top_up_wallet_id`,`updated_at`) WHERE top_up_wallet_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `transfer_open` ON `transfer` (`network`,`wallet_vkey`,`due_at`) WHERE due_at IS NOT NULL;