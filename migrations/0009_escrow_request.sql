CREATE TABLE `escrow_request` (
	`record_id` text PRIMARY KEY NOT NULL,
	`requested_by_id` text NOT NULL,
	`metadata` text,
	`made_at` integer NOT NULL
);
