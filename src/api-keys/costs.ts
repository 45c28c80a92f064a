/** What a call of each metered operation costs a key with `usageLimited`, in credits. */
export const COSTS = {
  "registry-diff": 1,
  "payment-information": 1,
  "registry-wallet": 1,
  "inbox-registration-refresh": 1,
  "x402-settle": 1,
  "invoice-monthly": 1,
} as const;

export type MeteredOperation = keyof typeof COSTS;
