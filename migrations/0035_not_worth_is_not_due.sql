-- What a withdrawal would not be worth is not due any more: it was, for ever, before everything that came later.
UPDATE `escrow` SET `due_at` = NULL
WHERE `due_at` IS NOT NULL AND `side` = 'payment' AND `want` IS NULL
  AND `error`->>'note' = 'withdrawing would cost more than it brings, so it does not come by itself';
