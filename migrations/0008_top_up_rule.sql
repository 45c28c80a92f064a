CREATE TABLE `top_up_rule` (
	`id` text PRIMARY KEY NOT NULL,
	`wallet_id` text NOT NULL,
	`unit` text NOT NULL,
	`below` text NOT NULL,
	`up_to` text NOT NULL,
	`per_day` text,
	`enabled` integer NOT NULL,
	`balance` text,
	`checked_at` integer,
	`waits_for` text,
	`version` integer NOT NULL,
	`created_by_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `top_up_rule_unit` ON `top_up_rule` (`wallet_id`,`unit`);