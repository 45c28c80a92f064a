import { CREDIT_COSTS } from "../../../src/api-keys/credits.ts";
import { decodeEscrowOutputs } from "../../../src/escrow/sync/escrow-outputs.ts";
import type { SubmitFault } from "../ledger.ts";
import { hasCredits, hasSpending, KEYS, MAX_CREDITS, MAX_SPENT } from "./keys.ts";
import { PurchaseModel } from "./purchase-model.ts";
import { ALL_OVER, PAYERS, QUOTES, SOURCE } from "./quotes.ts";

/** What can happen while keys buy, each with a number that says how. */
export const STORY_ACTIONS = [
  ...["buy", "buy", "buy", "race", "race", "repeat", "cancel"],
  ...["run", "run", "run", "runAll", "overtake", "die", "mine", "mine", "follow", "follow"],
  ...["wait", "expire", "rollback", "evict", "fault", "lag", "save", "restore"],
] as const;
export type StoryAction = readonly [kind: string, n: number];

const BLOCK_MS = 20_000;
const FAULTS: readonly SubmitFault[] = ["lostBefore", "lostAfter", "busy"];
/** Two validity windows, the halt after a database was set back, and some more. */
const ROUNDS = 60;
const ROUNDS_AFTER = 20;

interface Bought {
  id: string;
  identifier: string;
  by: string;
  charge: "held" | "returned" | null;
  credits: number | null;
  isSpent: 0 | 1 | null;
  amount: string;
  isLocked: 0 | 1;
  expiredAt: number | null;
  intent: string | null;
}

/** Purchases of many keys, from an empty beginning to a good end. */
export class PurchaseStory {
  readonly #model: PurchaseModel;

  constructor(outputs: readonly (readonly number[])[]) {
    this.#model = new PurchaseModel(outputs);
  }

  async do([kind, n]: StoryAction): Promise<void> {
    const model = this.#model;
    const { ledger } = model;
    switch (kind) {
      case "buy":
        for (let i = 0; i <= n % 4; i++)
          await model.buy((n + 5 * i) % KEYS, Math.floor(n / KEYS) + i);
        break;
      case "race": {
        // Two keys want the same, and one of them something else as well.
        const quote = Math.floor(n / KEYS);
        await Promise.all([
          model.buy(n % KEYS, quote),
          model.buy((n + 7) % KEYS, quote),
          model.buy(n % KEYS, quote + 1),
        ]);
        break;
      }
      case "repeat":
        await model.buy(n % KEYS, Math.floor(n / KEYS), true);
        await model.run(n, { repeats: true });
        break;
      case "cancel":
        await model.cancel(n % QUOTES);
        break;
      case "run":
        await model.run(n);
        break;
      case "runAll":
        await Promise.all([...PAYERS.keys(), n].map((i) => model.run(i)));
        break;
      case "overtake":
        await model.run(n, {}, { at: 1 + ((n >> 2) % 4), others: () => this.#others(n) });
        break;
      case "die":
        await model.run(n, { dies: 1 + ((n >> 3) % 40), when: n % 2 === 0 ? "before" : "after" });
        break;
      case "mine":
        model.pass(BLOCK_MS);
        ledger.mine();
        break;
      case "follow":
        await model.follow();
        break;
      case "wait":
        model.pass(10_000 * (n % 12));
        break;
      case "expire":
        model.pass(8 * 60_000);
        ledger.mine();
        break;
      case "rollback":
        ledger.rollback(1 + (n % 3), n % 2 === 0);
        break;
      case "evict":
        ledger.evict(n);
        break;
      case "fault":
        ledger.submitFaults.push(...FAULTS.slice(n % 3, (n % 3) + 1 + (n % 2)));
        break;
      case "lag":
        ledger.outputsBehind = n % 4;
        ledger.transactionsBehind = (n >> 2) % 3;
        break;
      case "save":
        model.database.save();
        break;
      case "restore":
        model.restore();
        break;
      default:
        throw new Error(`nobody does ${kind}`);
    }
  }

  /** What is done while a wallet's call to the journal is on its way. */
  async #others(n: number): Promise<void> {
    for (let i = 0; i < 4; i++) await this.#model.buy((n + 5 * i) % KEYS, n + i);
    this.#model.pass(2_000);
    for (const i of PAYERS.keys()) await this.#model.run(i);
  }

  /** After the last fault everything comes to its end. @returns what is wrong then */
  async end() {
    const { ledger } = this.#model;
    ledger.submitFaults = [];
    ledger.outputsBehind = 0;
    ledger.transactionsBehind = 0;
    await this.#rounds(ROUNDS);
    this.#model.pass(Math.max(ALL_OVER - ledger.now, 0));
    await this.#rounds(ROUNDS_AFTER);
    const bought = this.#bought();
    const locks = this.#locks();
    return {
      notOver: bought.filter(({ intent }) => intent !== null),
      lockedTwice: [...locks].filter(([, count]) => count > 1),
      wronglyTold: bought.filter((one) => (one.isLocked === 1) !== locks.has(one.identifier)),
      wronglyCharged: bought.filter(
        ({ charge, isLocked }) => charge !== null && (charge === "held") !== (isLocked === 1),
      ),
      wrongAccounts: this.#wrongAccounts(bought),
      needlessHalts: this.#model.needlessHalts,
    };
  }

  async #rounds(most: number): Promise<void> {
    const model = this.#model;
    for (let i = 0; i < most; i++) {
      model.pass(BLOCK_MS);
      model.ledger.mine();
      await model.follow();
      for (const n of PAYERS.keys()) await model.run(n);
    }
  }

  #bought(): Bought[] {
    return this.#model.database.all<Bought>(
      `SELECT id, lower(hex(blockchain_identifier)) AS identifier, escrow.requested_by_id AS "by", charge, credits,
         is_spent AS isSpent, funds->>'$[0].amount' AS amount,
         on_chain_state IS NOT NULL AS isLocked, expired_at AS expiredAt, intent
       FROM escrow JOIN escrow_request ON record_id = id WHERE side = 'purchase'`,
    );
  }

  /** How often the chain has a lock of each identifier. */
  #locks(): Map<string, number> {
    const source = { ...SOURCE, wallets: [] };
    const identifiers = this.#model.ledger.blocks
      .flatMap(({ transactions }) => transactions)
      .flatMap((tx) => decodeEscrowOutputs(source, tx).map(({ identifier }) => identifier));
    const locks = new Map<string, number>();
    for (const one of identifiers) locks.set(one, (locks.get(one) ?? 0) + 1);
    return locks;
  }

  /** Keys whose balance is not what their charged purchases cost, or is beyond its limit. */
  #wrongAccounts(bought: readonly Bought[]): unknown[] {
    const accounts = this.#model.database.all<{ id: string; credits: number; spent: number }>(
      `SELECT id, accumulated_usage_credits AS credits,
         coalesce((SELECT sum(spent) FROM key_spending WHERE api_key_id = id), 0) AS spent
       FROM api_key`,
    );
    return accounts.flatMap((account) => {
      const n = Number(account.id.replace("key-", ""));
      const held = bought.filter(({ by, charge }) => by === account.id && charge === "held");
      const spent = held.reduce((sum, one) => sum + BigInt(one.isSpent ? one.amount : 0), 0n);
      const credits = held.length * CREDIT_COSTS.purchase;
      const isRight =
        account.credits === (hasCredits(n) ? credits : 0) &&
        BigInt(account.spent) === (hasSpending(n) ? spent : 0n) &&
        account.credits <= MAX_CREDITS &&
        BigInt(account.spent) <= MAX_SPENT;
      return isRight ? [] : [{ ...account, held }];
    });
  }
}
