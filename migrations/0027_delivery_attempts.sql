ALTER TABLE `webhook_delivery` ADD `record_id` text;--> statement-breakpoint
ALTER TABLE `webhook_delivery` ADD `attempt_log` text;--> statement-breakpoint
CREATE INDEX `webhook_delivery_record` ON `webhook_delivery` (`record_id`,`event_id`,`endpoint_id`) WHERE (kind GLOB 'PAYMENT_*' OR kind GLOB 'PURCHASE_*');