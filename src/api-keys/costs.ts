/** The cost of each metered operation for a key with `usageLimited`, in credits. */
export const COSTS = {
  payment: 1,
  purchase: 1,
  "purchase-verify": 1,
  "registry-diff": 1,
  "payment-information": 1,
  "registry-wallet": 1,
  "inbox-registration-refresh": 1,
  "x402-settle": 1,
  "invoice-monthly": 1,
} as const;

export type MeteredOperation = keyof typeof COSTS;
