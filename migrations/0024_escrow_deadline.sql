ALTER TABLE `escrow` ADD `deadline` integer;--> statement-breakpoint
ALTER TABLE `escrow` ADD `warned_of` integer;--> statement-breakpoint
CREATE INDEX `escrow_deadline` ON `escrow` (`source_id`,`deadline`) WHERE deadline IS NOT NULL;