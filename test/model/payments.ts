import { formatAddress } from "../../src/chain/address.ts";
import type { Statement } from "../../src/db/client.ts";
import { statement } from "../../src/db/client.ts";
import { progressOf } from "../../src/wallets/model/phases.ts";
import { RetryLaterError } from "../../src/wallets/queue/errors.ts";
import type { WalletFeature } from "../../src/wallets/queue/feature.ts";
import type { WalletDatabase } from "../../src/wallets/spending/store/wallet.ts";

export const PAYMENTS = `CREATE TABLE payment (id TEXT PRIMARY KEY, state TEXT NOT NULL,
  hash TEXT, revision INTEGER NOT NULL, due_at INTEGER NOT NULL, reason TEXT,
  is_automatic INTEGER NOT NULL)`;

interface Payment {
  id: string;
  state: "Asked" | "UnderWay" | "Done";
  hash: string | null;
  revision: number;
  due_at: number;
  reason: string | null;
  is_automatic: 0 | 1;
}

const AMOUNT = 3_000_000n;
const PAUSE_MS = 10_000;

/** The address that a payment alone pays to. */
export function payeeOf(id: string): string {
  const hash = Buffer.from(id).toString("hex").padStart(56, "0");
  return formatAddress({ network: "Preprod", payment: { kind: "key", hash }, stake: null });
}

/** A feature that pays, each task once: the simplest of what a wallet does. */
export function paymentWork(db: WalletDatabase): WalletFeature {
  const read = (ids: readonly string[]) =>
    db.all<Payment>(
      "SELECT * FROM payment WHERE id IN (SELECT value FROM json_each(?))",
      JSON.stringify(ids),
    );
  const update = ({ id, revision }: Payment, state: string, hash: string | null): Statement =>
    statement(
      "UPDATE payment SET state = ?2, hash = ?3, revision = iif(revision = ?4, revision + 1, NULL) WHERE id = ?1",
      id,
      state,
      hash,
      revision,
    );
  return {
    name: "payment",
    placement: "chained",
    revision: "payment.revision",
    async listDue(now, limit) {
      const asked = await db.all<Payment>(
        "SELECT * FROM payment WHERE state = 'Asked' ORDER BY due_at, id LIMIT ?",
        limit,
      );
      const later = asked.filter((one) => one.due_at > now);
      return {
        tasks: asked
          .filter((one) => one.due_at <= now)
          .map((one) => ({ id: one.id, isAutomatic: one.is_automatic === 1 })),
        nextDueAt: later.length > 0 ? Math.min(...later.map((one) => one.due_at)) : null,
      };
    },
    buildPart: async ({ id }) => ({
      spends: [],
      scriptInputs: [],
      mints: [],
      outputs: [{ address: payeeOf(id), value: new Map([["", AMOUNT]]) }],
      metadata: new Map(),
      detail: {},
    }),
    async onTransaction(moves) {
      const rows = await read(moves.map(({ task }) => task.id));
      return moves.flatMap(({ task, transaction: { hash, phase } }) => {
        const row = rows.find(({ id }) => id === task.id);
        if (!row) return [];
        const meaning = progressOf(phase);
        if (meaning !== "Ended")
          return [update(row, meaning === "Landed" ? "Done" : "UnderWay", hash)];
        return row.hash === hash ? [update(row, "Asked", hash)] : [];
      });
    },
    async onFailure(tasks, error, now) {
      await db.batch([
        statement(
          "UPDATE payment SET due_at = ?1, reason = ?2 WHERE id IN (SELECT value FROM json_each(?3))",
          error instanceof RetryLaterError ? error.retryAt : now + PAUSE_MS,
          String(error),
          JSON.stringify(tasks.map(({ id }) => id)),
        ),
      ]);
    },
    async onUpdateFailure(tasks, message) {
      const ids = JSON.stringify(tasks.map(({ id }) => id));
      await db.batch([
        statement(
          "UPDATE payment SET reason = ? WHERE id IN (SELECT value FROM json_each(?))",
          message,
          ids,
        ),
      ]);
    },
  };
}
