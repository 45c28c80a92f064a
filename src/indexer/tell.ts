import { log } from "../log.ts";

/** What an operator should know of a source, though its sync goes on. */
export type Oddity =
  /** The provider shows a transaction after later ones were applied: those are applied again. */
  | "late"
  /** The steps skipped before a transaction are not known: its escrow is not changed. */
  | "gap"
  /** The ledger accepted a transaction that cannot be decoded: no more is followed than what it spends. */
  | "unreadable";

/** Tells the operator of a transaction, in the log. */
export function tellOdd(
  oddity: Oddity,
  fields: { source: string; tx: string; reason: string; record?: string },
): void {
  log(oddity === "unreadable" ? "error" : "warn", `sync.transaction_${oddity}`, fields);
}
