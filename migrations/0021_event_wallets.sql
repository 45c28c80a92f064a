ALTER TABLE `event` ADD `wallet_ids` text;--> statement-breakpoint
ALTER TABLE `webhook_delivery` ADD `wallet_ids` text;