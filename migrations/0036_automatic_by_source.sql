ALTER TABLE `payment_source` ADD `auto_withdraw_payments` integer;--> statement-breakpoint
ALTER TABLE `payment_source` ADD `auto_withdraw_refunds` integer;