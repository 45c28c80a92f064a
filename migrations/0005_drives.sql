ALTER TABLE `managed_wallet` ADD `drives` text DEFAULT 'nothing' NOT NULL;--> statement-breakpoint
ALTER TABLE `payment_source` ADD `drives` text DEFAULT 'nothing' NOT NULL;