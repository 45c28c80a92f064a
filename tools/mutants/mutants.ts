/** A change of one place in the code, which a test must notice. */
export interface Mutant {
  /** What the changed code does wrong. */
  fault: string;
  file: string;
  /** Exact text that the file contains once. */
  from: string;
  to: string;
}

export const MUTANTS: readonly Mutant[] = [
  {
    fault: "escrow: the contract's fee is ten times as large",
    file: "src/escrow/model/build-payouts.ts",
    from: "(amount * BigInt(feeRatePermille)) / 1000n",
    to: "(amount * BigInt(feeRatePermille)) / 100n",
  },
  {
    fault: "escrow: a purchase that ended without a lock keeps what it spent",
    file: "src/escrow/purchases/charges.ts",
    from: "...refundSpending(requestedById, network, price),",
    to: "",
  },
  {
    fault: "escrow: a record changed by another writer is overwritten",
    file: "src/escrow/store/write-changes.ts",
    from: "iif(escrow.revision = excluded.revision - 1, excluded.revision, NULL)",
    to: "excluded.revision",
  },
  {
    fault: "escrow: a result may be due at the unlock time",
    file: "src/escrow/terms/escrow-times.ts",
    from: "const lastSubmitTime = unlockTime - 15 * MINUTE_MS;",
    to: "const lastSubmitTime = unlockTime;",
  },
  {
    fault: "escrow: a step without a deadline is never possible",
    file: "src/escrow/model/windows.ts",
    from: "return isNever ? null : { notBefore, deadline };",
    to: "return isNever || deadline === null ? null : { notBefore, deadline };",
  },
  {
    fault: "wallets: every retry waits as long as the first",
    file: "src/wallets/queue/backoff.ts",
    from: "INITIAL_RETRY_DELAY_MS * 2 ** (failures - 1)",
    to: "INITIAL_RETRY_DELAY_MS",
  },
  {
    fault: "wallets: a transaction is valid one slot beyond the deadline",
    file: "src/wallets/spending/building/validity-window.ts",
    from: "firstSlotAtOrAfter(network, deadline) - 1",
    to: "firstSlotAtOrAfter(network, deadline)",
  },
  {
    fault: "wallets: a wallet spends from a database that was restored",
    file: "src/wallets/spending/model/journal.ts",
    from: "known.filter(({ name, count }) => storedCountOf(name) < count)",
    to: "known.filter(({ name, count }) => storedCountOf(name) < count - 1)",
  },
  {
    fault: "wallets: a payment does not wait for its earlier transaction",
    file: "src/wallets/spending/model/outward-chain.ts",
    from: 'if (mine.some(({ phase }) => isActive(phase))) return { waitsFor: "itself" };',
    to: "",
  },
  {
    fault: "wallets: top-ups exceed the amount per day",
    file: "src/wallets/top-ups/decide.ts",
    from: "const amount = missing < left ? missing : left;",
    to: "const amount = missing;",
  },
  {
    fault: "x402: an authorization of less than the price is accepted",
    file: "src/x402/verify/verify-payment.ts",
    from: "if (authorization.value !== BigInt(maxAmount)) return reasons.amount;",
    to: "if (authorization.value > BigInt(maxAmount)) return reasons.amount;",
  },
  {
    fault: "x402: an authorization that ends at once is accepted",
    file: "src/x402/verify/verify-payment.ts",
    from: "if (authorization.validBefore < seconds + SETTLE_TIME_SECONDS) return reasons.expired;",
    to: "if (authorization.validBefore < seconds) return reasons.expired;",
  },
  {
    fault: "x402: concurrent payments debit a budget once",
    file: "src/x402/pay/budgets.ts",
    from: "revision: nextRevisionSql(x402Budget.revision, revision)",
    to: "revision: revision + 1",
  },
  {
    fault: "x402: a used nonce is signed again",
    file: "src/x402/facilitator-wallet/nonces.ts",
    from: "while (usedNonces.has(nonce)) nonce++;",
    to: "",
  },
  {
    fault: "x402: a payment that a reorg removed stays settled",
    file: "src/x402/settle/payment-state.ts",
    from: 'failed: "failed",\n    final: "closed",',
    to: 'final: "closed",',
  },
  {
    fault: "invoices: amounts are rounded down",
    file: "src/invoices/model/fractions.ts",
    from: "return (scaled * 2n + denominator) / (denominator * 2n);",
    to: "return scaled / denominator;",
  },
  {
    fault: "invoices: an expired signature is accepted",
    file: "src/invoices/model/verify-buyer.ts",
    from: "if (request.validUntil < now)",
    to: "if (request.validUntil < now - MAX_VALIDITY_MS)",
  },
  {
    fault: "invoices: two requests issue the same month",
    file: "src/invoices/issue/commit-revision.ts",
    from: "DO UPDATE SET version = iif(version = ?6, version + 1, NULL)",
    to: "DO UPDATE SET version = version + ?6 * 0 + 1",
  },
  {
    fault: "invoices: a payment of the next month is billed",
    file: "src/invoices/issue/billable-payments.ts",
    from: "{BILLABLE_AT_SQL} < ?3",
    to: "{BILLABLE_AT_SQL} <= ?3",
  },
  {
    fault: "invoices: a rate that is far too high is accepted",
    file: "src/invoices/rates/rates.ts",
    from: "numerator >= MAX_RATE_FACTOR * denominator || ",
    to: "",
  },
  {
    fault: "webhooks: the signature does not cover the timestamp",
    file: "src/webhooks/endpoints/signature.ts",
    from: "{timestamp}",
    to: "{0}",
  },
  {
    fault: "webhooks: a retry ignores the wait that the receiver requests",
    file: "src/webhooks/delivery/retry-schedule.ts",
    from: "Math.max(jittered, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS))",
    to: "jittered",
  },
  {
    fault: "webhooks: two consumers claim the same delivery",
    file: "src/webhooks/delivery/claimable-deliveries.ts",
    from: "WHERE claimed_until <= ? AND place <=",
    to: "WHERE claimed_until + ? > 0 AND place <=",
  },
  {
    fault: "webhooks: the outcome of an old attempt overwrites a newer one",
    file: "src/webhooks/delivery/record-outcomes.ts",
    from: "AND d.attempt = o.value->>'attempt' AND d.claimed_until > 0",
    to: "AND d.claimed_until > 0",
  },
  {
    fault: "webhooks: a key receives events of other keys",
    file: "src/webhooks/model/may-receive-condition.ts",
    from: "{event.ownerId} = k.id, TRUE)",
    to: "{event.ownerId} IS NOT NULL, TRUE)",
  },
  {
    fault: "api-keys: a call costs nothing",
    file: "src/api-keys/credits.ts",
    from: "SET accumulated_usage_credits = accumulated_usage_credits + ?",
    to: "SET accumulated_usage_credits = accumulated_usage_credits + 0 * ?",
  },
  {
    fault: "api-keys: a revoked key still works",
    file: "src/api-keys/find-key.ts",
    from: "WHERE token_hash = ? AND status = 'Active'",
    to: "WHERE token_hash = ?",
  },
  {
    fault: "api-keys: only the last price counts against a spending limit",
    file: "src/api-keys/spending-limits.ts",
    from: "spent = key_spending.spent + excluded.spent,",
    to: "spent = excluded.spent,",
  },
  {
    fault: "api-keys: the last Admin key can be revoked",
    file: "src/api-keys/update-key.ts",
    from: "AND status = 'Active' AND deleted_at IS NULL), status, NULL)",
    to: "), status, NULL)",
  },
  {
    fault: "api-keys: a call that failed keeps its charge",
    file: "src/api-keys/run-with-charge.ts",
    from: "if (isCharged) await refundCall(c, operation);",
    to: "",
  },
];
