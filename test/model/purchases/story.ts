import { COSTS } from "../../../src/api-keys/costs.ts";
import { escrowOutputs } from "../../../src/escrow/fold/escrow-outputs.ts";
import type { SubmitFault } from "../ledger.ts";
import { hasCredits, hasSpending, KEYS, MAX_CREDITS, MAX_SPENT } from "./keys.ts";
import { Market } from "./market.ts";
import { ALL_OVER, PAYERS, QUOTES, SOURCE } from "./quotes.ts";

/** What can happen while keys buy, each with a number that says how. */
export const DEEDS = [
  ...["buy", "buy", "buy", "race", "race", "repeat", "cancel"],
  ...["run", "run", "run", "runAll", "overtake", "die", "mine", "mine", "follow", "follow"],
  ...["wait", "expire", "rollback", "evict", "fault", "lag", "save", "restore"],
] as const;
export type Deed = readonly [kind: string, n: number];

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
  want: string | null;
}

/** Purchases of many keys, from an empty beginning to a good end. */
export class PurchaseStory {
  readonly #market: Market;

  constructor(outputs: readonly (readonly number[])[]) {
    this.#market = new Market(outputs);
  }

  async do([kind, n]: Deed): Promise<void> {
    const market = this.#market;
    const { ledger } = market;
    switch (kind) {
      case "buy":
        for (let i = 0; i <= n % 4; i++)
          await market.buy((n + 5 * i) % KEYS, Math.floor(n / KEYS) + i);
        break;
      case "race": {
        // Two keys want the same, and one of them something else as well.
        const quote = Math.floor(n / KEYS);
        await Promise.all([
          market.buy(n % KEYS, quote),
          market.buy((n + 7) % KEYS, quote),
          market.buy(n % KEYS, quote + 1),
        ]);
        break;
      }
      case "repeat":
        await market.buy(n % KEYS, Math.floor(n / KEYS), true);
        await market.run(n, { repeats: true });
        break;
      case "cancel":
        await market.cancel(n % QUOTES);
        break;
      case "run":
        await market.run(n);
        break;
      case "runAll":
        await Promise.all([...PAYERS.keys(), n].map((i) => market.run(i)));
        break;
      case "overtake":
        await market.run(n, {}, { at: 1 + ((n >> 2) % 4), others: () => this.#others(n) });
        break;
      case "die":
        await market.run(n, { dies: 1 + ((n >> 3) % 40), when: n % 2 === 0 ? "before" : "after" });
        break;
      case "mine":
        market.pass(BLOCK_MS);
        ledger.mine();
        break;
      case "follow":
        await market.follow();
        break;
      case "wait":
        market.pass(10_000 * (n % 12));
        break;
      case "expire":
        market.pass(8 * 60_000);
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
        market.database.save();
        break;
      case "restore":
        market.restore();
        break;
      default:
        throw new Error(`nobody does ${kind}`);
    }
  }

  /** What is done while a wallet's call to the journal is on its way. */
  async #others(n: number): Promise<void> {
    for (let i = 0; i < 4; i++) await this.#market.buy((n + 5 * i) % KEYS, n + i);
    this.#market.pass(2_000);
    for (const i of PAYERS.keys()) await this.#market.run(i);
  }

  /** After the last fault everything comes to its end. @returns what is wrong then */
  async end() {
    const { ledger } = this.#market;
    ledger.submitFaults = [];
    ledger.outputsBehind = 0;
    ledger.transactionsBehind = 0;
    await this.#rounds(ROUNDS);
    this.#market.pass(Math.max(ALL_OVER - ledger.now, 0));
    await this.#rounds(ROUNDS_AFTER);
    const bought = this.#bought();
    const locks = this.#locks();
    return {
      notOver: bought.filter(({ want }) => want !== null),
      lockedTwice: [...locks].filter(([, count]) => count > 1),
      wronglyTold: bought.filter((one) => (one.isLocked === 1) !== locks.has(one.identifier)),
      wronglyCharged: bought.filter(
        ({ charge, isLocked }) => charge !== null && (charge === "held") !== (isLocked === 1),
      ),
      wrongAccounts: this.#wrongAccounts(bought),
      needlessHalts: this.#market.needlessHalts,
    };
  }

  async #rounds(most: number): Promise<void> {
    const market = this.#market;
    for (let i = 0; i < most; i++) {
      market.pass(BLOCK_MS);
      market.ledger.mine();
      await market.follow();
      for (const n of PAYERS.keys()) await market.run(n);
    }
  }

  #bought(): Bought[] {
    return this.#market.database.all<Bought>(
      `SELECT id, blockchain_identifier AS identifier, escrow.requested_by_id AS "by", charge, credits,
         is_spent AS isSpent, terms->>'$.funds[0].amount' AS amount,
         on_chain_state IS NOT NULL AS isLocked, expired_at AS expiredAt, want
       FROM escrow JOIN escrow_request ON record_id = id WHERE side = 'purchase'`,
    );
  }

  /** How often the chain has a lock of each identifier. */
  #locks(): Map<string, number> {
    const source = { ...SOURCE, wallets: [] };
    const identifiers = this.#market.ledger.blocks
      .flatMap(({ transactions }) => transactions)
      .flatMap((tx) => escrowOutputs(source, tx).map(({ identifier }) => identifier));
    const locks = new Map<string, number>();
    for (const one of identifiers) locks.set(one, (locks.get(one) ?? 0) + 1);
    return locks;
  }

  /** Keys whose balance is not what their charged purchases cost, or is beyond its limit. */
  #wrongAccounts(bought: readonly Bought[]): unknown[] {
    const accounts = this.#market.database.all<{ id: string; credits: number; spent: number }>(
      `SELECT id, accumulated_usage_credits AS credits,
         coalesce((SELECT sum(spent) FROM key_spending WHERE api_key_id = id), 0) AS spent
       FROM api_key`,
    );
    return accounts.flatMap((account) => {
      const n = Number(account.id.replace("key-", ""));
      const held = bought.filter(({ by, charge }) => by === account.id && charge === "held");
      const spent = held.reduce((sum, one) => sum + BigInt(one.isSpent ? one.amount : 0), 0n);
      const credits = held.length * COSTS.purchase;
      const isRight =
        account.credits === (hasCredits(n) ? credits : 0) &&
        BigInt(account.spent) === (hasSpending(n) ? spent : 0n) &&
        account.credits <= MAX_CREDITS &&
        BigInt(account.spent) <= MAX_SPENT;
      return isRight ? [] : [{ ...account, held }];
    });
  }
}
