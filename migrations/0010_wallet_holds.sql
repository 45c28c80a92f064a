ALTER TABLE `hot_wallet` ADD `spent_elsewhere` text;--> statement-breakpoint
ALTER TABLE `hot_wallet` ADD `held` text;--> statement-breakpoint
ALTER TABLE `hot_wallet` ADD `held_since` integer;--> statement-breakpoint
CREATE INDEX `wallet_transaction_of_wallet` ON `wallet_transaction` (`network`,`wallet_vkey`,`created_at`,`hash`);