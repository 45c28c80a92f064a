import { env } from "cloudflare:workers";
import { openDb } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import type { EscrowRecord, Side } from "../../../src/escrow/model/escrow-record.ts";
import { IDLE_PROGRESS } from "../../../src/escrow/model/intent.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { loadRecords } from "../../../src/escrow/store/load-records.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import type { ChainWallet } from "../chain.ts";
import { found } from "../registry/registration-fixture.ts";
import { settle } from "../sources/sync.ts";
import { HOUR, QuoteFixture } from "./quote-fixture.ts";

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

/** A payment source with sellers and buyers, on a separate chain. */
export class PaymentSourceFixture {
  readonly quotes: QuoteFixture;
  /** The purchasing wallets, by name. */
  readonly buyers: Record<string, ChainWallet>;

  private constructor(quotes: QuoteFixture, buyers: Record<string, ChainWallet>) {
    this.quotes = quotes;
    this.buyers = buyers;
  }

  static async open(
    type: QuoteFixture["type"] = "Web3ChainV1",
    buyers: Record<string, number[]> = PLENTY,
  ): Promise<PaymentSourceFixture> {
    const quotes = await QuoteFixture.open(type, { buyers, published: true });
    await quotes.agent();
    const { wallets } = await quotes.fixture.chain.wallets();
    const named = Object.keys(buyers).map(
      (name) => [name, found(wallets, (one) => one.name === name)] as const,
    );
    return new PaymentSourceFixture(quotes, Object.fromEntries(named));
  }

  get fixture() {
    return this.quotes.fixture;
  }

  get chain() {
    return this.fixture.chain;
  }

  /**
   * Quotes a job and requests its lock. The request is so old that the wallet waits for no others.
   *
   * @param terms - of the purchase alone
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
    const intent = {
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
      revision: -1,
      sequence: 0,
    };
    const changes = new ChangeSet([], now, 0);
    changes.setProgress(record, { ...IDLE_PROGRESS, intent: { id: newId(now), ...intent } });
    const place = { sourceId: record.sourceId, network: record.network };
    await openDb(env).batch(writeChanges(changes, place));
    return record;
  }

  /** Runs a purchasing wallet once. */
  work(name = "buyer-0"): Promise<number | null> {
    return this.fixture.work(found(Object.entries(this.buyers), ([one]) => one === name)[1]);
  }

  /** Follows the chain up to its tip. */
  sync(): Promise<void> {
    return settle(this.chain, this.fixture.sourceId);
  }

  async shown(side: Side): Promise<ShownEscrow[]> {
    const { data } = await this.fixture.ask<Record<string, ShownEscrow[]>>(
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
  return (await loadRecords(openDb(env), [], "SELECT id FROM escrow WHERE side = ?2", side))
    .records;
}

/** Hashes of the transactions that wallets stored, with their phases, the oldest first. */
export async function walletTransactions(): Promise<{ hash: string; phase: string }[]> {
  const { results } = await env.DB.prepare(
    "SELECT hash, phase FROM wallet_transaction ORDER BY created_at, sequence",
  ).all<{ hash: string; phase: string }>();
  return results;
}
