ALTER TABLE `escrow_request` ADD `purchase_of` text;--> statement-breakpoint
CREATE UNIQUE INDEX `escrow_request_purchase` ON `escrow_request` (`purchase_of`);