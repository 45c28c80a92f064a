-- Records from before deadlines were kept: the next passes over their sources look at them, batch by batch.
UPDATE `escrow` SET `deadline` = 0
WHERE `deadline` IS NULL AND `warned_of` IS NULL AND `side` = 'payment' AND `network` IN ('Preprod', 'Mainnet')
  AND `on_chain_state` IN ('FundsLocked', 'RefundRequested') AND `state`->>'resultHash' = '';--> statement-breakpoint
UPDATE `escrow` SET `deadline` = 0
WHERE `deadline` IS NULL AND `warned_of` IS NULL AND `due_at` IS NOT NULL AND `want` IS NOT NULL;
