ALTER TABLE `x402_payment_attempt` ADD `watched_until` integer;--> statement-breakpoint
CREATE INDEX `x402_attempt_watched` ON `x402_payment_attempt` (`caip2_id`,`id`) WHERE watched_until IS NOT NULL;