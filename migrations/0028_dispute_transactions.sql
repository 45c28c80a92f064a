DROP INDEX `dispute_proposal_standing`;--> statement-breakpoint
ALTER TABLE `dispute_proposal` ADD `prepared` text;--> statement-breakpoint
ALTER TABLE `dispute_proposal` ADD `set_aside` text;--> statement-breakpoint
ALTER TABLE `dispute_proposal` ADD `expires_at` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `dispute_proposal_standing` ON `dispute_proposal` (`source_id`,output->>'utxo') WHERE state IN ('Collecting', 'SettleRequested');