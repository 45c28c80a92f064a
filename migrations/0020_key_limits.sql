CREATE TABLE `key_spending` (
	`api_key_id` text NOT NULL,
	`network` text NOT NULL,
	`unit` text NOT NULL,
	`spent` integer NOT NULL,
	`most` integer NOT NULL,
	PRIMARY KEY(`api_key_id`, `network`, `unit`),
	CONSTRAINT "key_spending_limit" CHECK("key_spending"."spent" BETWEEN 0 AND "key_spending"."most")
);
--> statement-breakpoint
ALTER TABLE `api_key` ADD `wallet_limit` text;--> statement-breakpoint
ALTER TABLE `api_key` ADD `spending_limits` text;--> statement-breakpoint
ALTER TABLE `api_key` ADD `return_addresses` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `escrow_request` ADD `is_spent` integer;