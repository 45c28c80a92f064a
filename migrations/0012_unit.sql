CREATE TABLE `unit` (
	`unit` text PRIMARY KEY NOT NULL,
	`ticker` text NOT NULL,
	`decimals` integer NOT NULL,
	`updated_by_id` text NOT NULL,
	`updated_at` integer NOT NULL
);
