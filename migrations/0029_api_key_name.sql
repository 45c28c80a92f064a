ALTER TABLE `api_key` ADD `name` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_key` ADD `last_used_at` integer;