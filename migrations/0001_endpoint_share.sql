ALTER TABLE `webhook_endpoint` ADD `timeouts` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `webhook_endpoint` ADD `silent_since` integer;--> statement-breakpoint
ALTER TABLE `webhook_endpoint` ADD `paused_until` integer;--> statement-breakpoint
ALTER TABLE `webhook_endpoint` ADD `asked_until` integer;