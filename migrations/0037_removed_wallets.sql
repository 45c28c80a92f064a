ALTER TABLE `escrow` ADD `wallet_removed` integer;--> statement-breakpoint
CREATE INDEX `escrow_wallet_removed` ON `escrow` (`source_id`) WHERE wallet_removed IS NOT NULL;--> statement-breakpoint
-- That a wallet was removed stood where errors stand, and was lost with them: only what tells of other funds is one.
UPDATE `escrow` SET `wallet_removed` = 1, `rev` = `rev` + 1,
  `error` = CASE WHEN `error`->>'isOfOtherFunds'
    THEN json_set(`error`, '$.note', substr(`error`->>'note', instr(`error`->>'note', '; then: ') + 8)) END,
  `state` = CASE WHEN `want` IS NULL AND `error`->>'isOfOtherFunds' IS NULL
      AND (`expired_at` IS NOT NULL OR `on_chain_state` IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn'))
    THEN json_set(`state`, '$.nextAction.requestedAction', 'None', '$.nextAction.errorType', NULL,
      '$.nextAction.errorNote', NULL)
    ELSE `state` END
WHERE `error` IS NOT NULL AND `network` IN ('Preprod', 'Mainnet')
  AND instr(`error`->>'note', 'Its wallet or payment source was removed: nothing is done for it any more.') = 1;
