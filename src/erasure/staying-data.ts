import { computeOldestEventTime } from "../webhooks/delivery/sweep-deliveries.ts";

/** Why data stays after an erasure. */
export const BASES = ["Law", "Accounting", "Chain", "Operation", "Temporary"] as const;

/** Data that an erasure leaves, by the names that the test of personal columns uses. */
export const STAYING_DATA = {
  invoices: {
    basis: "Law",
    what: "Issued invoices and cancellations, with the parties that they name.",
    reason:
      "Tax law requires them: in Germany for 8 years (§ 14b UStG, § 147 AO), elsewhere in the EU by laws under Article 247 of Directive 2006/112/EC.",
  },
  accounting: {
    basis: "Accounting",
    what: "Amounts, charges, limits, paid resources, and whose wallet paid or received.",
    reason: "They are the operator's books (in Germany § 147 AO, § 257 HGB).",
  },
  chain: {
    basis: "Chain",
    what: "Escrows, registered agents, addresses, key hashes and transactions.",
    reason: "The public chain has them, and nobody can delete them there.",
  },
  references: {
    basis: "Operation",
    what: "Ids, hashes, states and rights, and audit entries without their details.",
    reason: "They connect records and show who changed what. They name no person.",
  },
  settings: {
    basis: "Operation",
    what: "Payment sources, wallets, networks, tokens and workers, with the operator's notes.",
    reason: "They are the operator's settings, and serve all keys.",
  },
  progress: {
    basis: "Operation",
    what: "Errors, positions and balances that the service wrote.",
    reason: "They follow from the chain and from the service's own work.",
  },
  temporary: {
    basis: "Temporary",
    what: "Events, deliveries, and what undoes transactions in young blocks.",
    reason: "The service deletes them automatically.",
  },
} as const satisfies Record<string, Omit<StayingData, "until">>;

/** Data that stays, and why. */
export interface StayingData {
  basis: (typeof BASES)[number];
  what: string;
  reason: string;
  /** Epoch milliseconds at which the data ends; null: never. */
  until: number | null;
}

const DAY_MS = 24 * 60 * 60_000;
/** D1 can be set back to any minute of so many days. */
const BACKUP_DAYS = 30;

/**
 * Lists what an erasure leaves, and why.
 *
 * @param now - time of the erasure, epoch milliseconds
 */
export function listStayingData(
  env: Parameters<typeof computeOldestEventTime>[0],
  now: number,
): StayingData[] {
  const eventsEndAt = 2 * now - computeOldestEventTime(env, now);
  return [
    ...Object.entries(STAYING_DATA).map(([name, data]) => ({
      ...data,
      until: name === "temporary" ? eventsEndAt : null,
    })),
    {
      basis: "Temporary",
      what: "Backups of the database with the erased data.",
      reason: `The platform deletes them after ${BACKUP_DAYS} days.`,
      until: now + BACKUP_DAYS * DAY_MS,
    },
  ];
}
