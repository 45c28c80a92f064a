import { DurableObject } from "cloudflare:workers";
import type { Env } from "../src/env.ts";
import {
  type EnterResult,
  Journal,
  type StaleReadResult,
} from "../src/wallets/spending/model/journal.ts";

/** The journal of a network's wallets: what a database that is set back cannot take along. */
export class SpendingJournal extends DurableObject<Env> {
  readonly #journal: Journal;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#journal = new Journal(
      (sql, ...params) => ctx.storage.sql.exec(sql, ...params).toArray() as never[],
    );
  }

  async enter(...asked: Parameters<Journal["enter"]>): Promise<EnterResult | StaleReadResult> {
    return this.#journal.enter(...asked);
  }

  async append(...asked: Parameters<Journal["append"]>): Promise<boolean | StaleReadResult> {
    return this.#journal.append(...asked);
  }

  async resume(...asked: Parameters<Journal["resume"]>): Promise<void> {
    this.#journal.resume(...asked);
  }

  async markRestored(...told: Parameters<Journal["markRestored"]>): Promise<void> {
    this.#journal.markRestored(...told);
  }
}
