CREATE TABLE `incident` (
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`since` integer NOT NULL,
	`over_at` integer,
	`sequence` integer NOT NULL,
	`last_op` text NOT NULL,
	PRIMARY KEY(`kind`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `incident_open` ON `incident` (`kind`) WHERE over_at IS NULL;