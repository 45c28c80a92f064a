import { DurableObject } from "cloudflare:workers";
import type { Env } from "../src/env.ts";
import { type Entry, type Handed, Journal } from "../src/wallets/spending/journal.ts";

/** The journal of a network's wallets: what a database that is set back cannot take along. */
export class SpendingJournal extends DurableObject<Env> {
  readonly #journal: Journal;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#journal = new Journal(
      (sql, ...params) => ctx.storage.sql.exec(sql, ...params).toArray() as never[],
    );
  }

  async enter(vkey: string, stored: number, now: number): Promise<Entry> {
    return this.#journal.enter(vkey, stored, now);
  }

  async hand(vkey: string, transaction: Handed, stored: number, now: number): Promise<boolean> {
    return this.#journal.hand(vkey, transaction, stored, now);
  }

  async resume(stored: number): Promise<void> {
    this.#journal.resume(stored);
  }

  async remembered(vkey: string, stored: number): Promise<void> {
    this.#journal.remembered(vkey, stored);
  }
}
