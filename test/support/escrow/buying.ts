import { env } from "cloudflare:workers";
import { db } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import { ChangeSet } from "../../../src/escrow/fold/changes.ts";
import { loadRecords } from "../../../src/escrow/fold/load-records.ts";
import { writeChanges } from "../../../src/escrow/fold/write-changes.ts";
import type { EscrowRecord, Side } from "../../../src/escrow/record.ts";
import { NOTHING_WANTED } from "../../../src/escrow/wanted.ts";
import type { ChainWallet } from "../chain.ts";
import { found } from "../registry/registration.ts";
import { settle } from "../sources/sync.ts";
import { HOUR, QuoteDesk } from "./quoting.ts";

/** A record as the API shows it, as far as tests look. */
export interface ShownEscrow {
  id: string;
  onChainState: string | null;
  NextAction: { requestedAction: string; errorType: string | null; errorNote: string | null };
  CurrentTransaction: { txHash: string; status: string } | null;
  SmartContractWallet: { id: string; walletVkey: string } | null;
  [field: string]: unknown;
}

/** What each purchasing wallet holds unless a test says otherwise. */
const PLENTY = { "buyer-0": [500_000_000, 500_000_000] };

/** A payment source with sellers and buyers, on a chain of its own. */
export class BuyDesk {
  readonly quotes: QuoteDesk;
  /** The purchasing wallets, by name. */
  readonly buyers: Record<string, ChainWallet>;

  private constructor(quotes: QuoteDesk, buyers: Record<string, ChainWallet>) {
    this.quotes = quotes;
    this.buyers = buyers;
  }

  static async open(
    type: QuoteDesk["type"] = "Web3ChainV1",
    buyers: Record<string, number[]> = PLENTY,
  ): Promise<BuyDesk> {
    const quotes = await QuoteDesk.open(type, { buyers, published: true });
    await quotes.agent();
    const { wallets } = await quotes.desk.chain.wallets();
    const named = Object.keys(buyers).map(
      (name) => [name, found(wallets, (one) => one.name === name)] as const,
    );
    return new BuyDesk(quotes, Object.fromEntries(named));
  }

  get desk() {
    return this.quotes.desk;
  }

  get chain() {
    return this.desk.chain;
  }

  /**
   * Has a job quoted and asks for its lock, as long ago as nobody waits for others to join.
   *
   * @param terms - of the purchase alone, which a request might be refused for
   */
  async buy(
    overrides: Record<string, unknown> = {},
    terms: Partial<EscrowRecord["terms"]> = {},
  ): Promise<EscrowRecord> {
    const { data, message } = await this.quotes.quote({
      payByTime: new Date(Date.now() + HOUR).toISOString(),
      ...overrides,
    });
    if (!data) throw new Error(message);
    const payment = found(await storedRecords("payment"), ({ id }) => id === data.id);
    const now = Date.now();
    const want = {
      step: "FundsLocking",
      resultHash: null,
      by: "key-a",
      since: now - 5_000,
    } as const;
    const record: EscrowRecord = {
      ...payment,
      id: newId(now),
      side: "purchase",
      terms: { ...payment.terms, ...terms },
      wallet: null,
      rev: -1,
      sequence: 0,
    };
    const changes = new ChangeSet([], now, 0);
    changes.want(record, { ...NOTHING_WANTED, want: { id: newId(now), ...want } });
    const place = { sourceId: record.sourceId, network: record.network };
    await db(env).batch(writeChanges(changes, place));
    return record;
  }

  /** Runs a purchasing wallet once. */
  work(name = "buyer-0"): Promise<number | null> {
    return this.desk.work(found(Object.entries(this.buyers), ([one]) => one === name)[1]);
  }

  /** Follows the chain up to its tip. */
  sync(): Promise<void> {
    return settle(this.chain, this.desk.sourceId);
  }

  async shown(side: Side): Promise<ShownEscrow[]> {
    const { data } = await this.desk.ask<Record<string, ShownEscrow[]>>(
      "GET",
      `/${side}?network=Preprod&limit=100&includeHistory=true`,
    );
    return Object.values(data)[0] ?? [];
  }

  /** The only record of a side. */
  async only(side: Side): Promise<ShownEscrow> {
    const [first, ...others] = await this.shown(side);
    if (!first || others.length > 0) throw new Error(`there is not one ${side}`);
    return first;
  }
}

/** The records of a side as they are stored. */
export async function storedRecords(side: Side): Promise<EscrowRecord[]> {
  return (await loadRecords(db(env), [], "SELECT id FROM escrow WHERE side = ?2", side)).records;
}

/** Hashes of the transactions that wallets stored, with their phases, the oldest first. */
export async function walletTransactions(): Promise<{ hash: string; phase: string }[]> {
  const { results } = await env.DB.prepare(
    "SELECT hash, phase FROM wallet_transaction ORDER BY created_at, sequence",
  ).all<{ hash: string; phase: string }>();
  return results;
}
