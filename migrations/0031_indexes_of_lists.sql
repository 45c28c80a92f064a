CREATE INDEX `audit_api_key` ON `audit` (`api_key_id`,`id`);--> statement-breakpoint
CREATE INDEX `audit_action` ON `audit` (`action`,`id`);--> statement-breakpoint
CREATE INDEX `transfer_newest` ON `transfer` (`network`,`id`);