/** How fast a payment source is followed, and what that asks of the provider. */
import { setTimeout as wait } from "node:timers/promises";
import { contractOf } from "../devnet/contracts/index.ts";
import { act, lock } from "../devnet/demo/actors/actions.ts";
import type { Escrow } from "../devnet/demo/actors/escrow.ts";
import { ACTOR_FUNDS, ADMIN, BUYERS, SELLERS, type Wallet } from "../devnet/demo/actors/wallets.ts";
import type { Chain } from "../devnet/ledger/chain.ts";
import type { DevnetNode } from "../devnet/server/node.ts";
import { startDevnet } from "../devnet/server/server.ts";
import { startFloor } from "./support/floor.ts";
import {
  type BenchContext,
  type BenchService,
  call,
  startBenchService,
} from "./support/service.ts";
import type { Row } from "./support/table.ts";

const TRANSACTIONS_PER_BLOCK = 4;
const POLL_MS = 50;
/** As many as the follower of a source reads at once. */
const CALLS_AT_ONCE = 5;
/** So long for one step means that the sync has stopped. */
const STOPPED_AFTER_S = 120;
/** What is aimed at above the calls alone. */
const GOAL_MS = 1.4;
const CONTRACT = contractOf("Web3ChainV1");

export interface SyncFigures {
  /** For each thousand transactions. */
  rows: Row[];
  /** Calls of the provider in all, by path. */
  calls: Row[];
}

/**
 * Makes a chain of transactions and creates a source. Then it fires the cron once and watches the
 * source's own object read, decode and write all of them. Both parties of every escrow are managed, so
 * each transaction changes two records.
 */
export async function benchSync(context: BenchContext): Promise<SyncFigures> {
  const [count, step] = context.quick ? [300, 100] : [10_000, 1_000];
  const devnet = await startDevnet();
  try {
    const node = devnet.createChain("bench", { funds: ACTOR_FUNDS });
    makeTransactions(node.chain, count);
    const callMs = await callAlone(node, context.quick ? 120 : 3_000);
    const service = await startBenchService(context, {
      BLOCKFROST_URL_PREPROD: node.url,
      LOOPBACK_ORIGINS: devnet.url,
      // As of a provider that has no limit: else its limit would be all that is measured.
      PROVIDER_CALLS_PER_SECOND: "1000000",
    });
    try {
      await createSource(service);
      const rows = await follow(service, node, { count, step, callMs });
      await checkRecords(service, count);
      const calls = [...node.calls].map(([path, calls]) => ({
        "provider call": path,
        calls,
        "per transaction": calls / count,
      }));
      return { rows, calls };
    } finally {
      await service.host.close();
    }
  } finally {
    await devnet.close();
  }
}

/**
 * Escrows of three transactions: lock, result, withdrawal. Escrows that share a block go step by step.
 * A withdrawal waits for the unlock time, after which earlier transactions that are in no block are not
 * valid any more.
 */
function makeTransactions(chain: Chain, count: number): void {
  const steps: ((escrow: Escrow) => Escrow)[] = [
    (escrow) => act(chain, escrow, "submitResult"),
    (escrow) => act(chain, escrow, "withdraw"),
  ];
  for (let made = 0; made < count; ) {
    let escrows = PARTIES.slice(0, count - made).map((parties) =>
      lock(chain, { version: CONTRACT.type, ...parties }),
    );
    chain.mine();
    made += escrows.length;
    for (const step of steps) {
      escrows = escrows.slice(0, count - made).map(step);
      if (escrows.length > 0) chain.mine();
      made += escrows.length;
    }
  }
}

/** A block's escrows have different parties, each with separate funds. */
const PARTIES = SELLERS.slice(0, TRANSACTIONS_PER_BLOCK).map((seller, i) => ({
  seller,
  buyer: BUYERS[i % BUYERS.length] ?? BUYERS[0],
}));

const managed = ({ name, mnemonic }: Wallet) => ({
  walletMnemonic: mnemonic,
  note: name,
  collectionAddress: null,
});

async function createSource(service: BenchService): Promise<void> {
  await call(service, "/api/v1/payment-source-extended", {
    method: "POST",
    body: {
      network: "Preprod",
      paymentSourceType: CONTRACT.type,
      smartContractAddress: CONTRACT.address,
      policyId: CONTRACT.policy.hash,
      PaymentSourceConfig: { rpcProviderApiKey: "local-chain", rpcProvider: "Blockfrost" },
      AdminWallets: [{ walletAddress: ADMIN.address }],
      FeeReceiverNetworkWallet: { walletAddress: ADMIN.address },
      feeRatePermille: 50,
      SellingWallets: SELLERS.map(managed),
      PurchasingWallets: BUYERS.map(managed),
    },
  });
}

/**
 * What the harness takes for a call: CPU milliseconds of a Worker that does nothing but read a transaction of the
 * chain, and parse the answer.
 */
async function callAlone(node: DevnetNode, calls: number): Promise<number> {
  const [first] = node.chain.view().addresses.get(CONTRACT.address)?.transactions ?? [];
  if (!first) throw new Error("there is no transaction");
  const floor = await startFloor();
  try {
    const url = floor.readUrl(`${node.url}/txs/${first.tx.hash}/cbor`, CALLS_AT_ONCE);
    return (await floor.cpuMsOf(url, Math.ceil(calls / CALLS_AT_ONCE))) / CALLS_AT_ONCE;
  } finally {
    await floor.close();
  }
}

/** Where the source was at a moment. */
interface Sample {
  transactions: number;
  seconds: number;
  calls: number;
  cpuMs: number;
}

/**
 * @param options - `callMs`: CPU milliseconds of a call alone
 * @returns a row for each `step` transactions; a batch more, as they are done in batches
 */
async function follow(
  service: BenchService,
  node: DevnetNode,
  { count, step, callMs }: { count: number; step: number; callMs: number },
): Promise<Row[]> {
  const listed = node.chain.view().addresses.get(CONTRACT.address)?.transactions ?? [];
  if (listed.length !== count) throw new Error(`${listed.length} of ${count} transactions exist`);
  const order = new Map(listed.map(({ tx }, i) => [tx.hash, i + 1]));

  node.calls.clear();
  const begun = performance.now();
  const sample = async (): Promise<Sample> => ({
    transactions: order.get((await readCursor(service)) ?? "") ?? 0,
    seconds: (performance.now() - begun) / 1000,
    calls: [...node.calls.values()].reduce((sum, calls) => sum + calls, 0),
    cpuMs: service.cpuMs(),
  });

  let last = await sample();
  await service.host.scheduled();
  const rows: Row[] = [];
  while (last.transactions < count) {
    const target = Math.min(last.transactions + step, count);
    let now = await sample();
    while (now.transactions < target) {
      if (now.seconds - last.seconds > STOPPED_AFTER_S)
        throw new Error(`the sync stopped after ${now.transactions} of ${count} transactions`);
      await wait(POLL_MS);
      now = await sample();
    }
    const transactions = now.transactions - last.transactions;
    const seconds = now.seconds - last.seconds;
    const cpuMs = (now.cpuMs - last.cpuMs) / transactions;
    const calls = (now.calls - last.calls) / transactions;
    rows.push({
      "up to transaction": now.transactions,
      seconds,
      "transactions/s": transactions / seconds,
      "record changes/s": (2 * transactions) / seconds,
      "CPU ms/transaction": cpuMs,
      "calls alone": calls * callMs,
      ours: cpuMs - calls * callMs,
      goal: GOAL_MS,
      "calls/transaction": calls,
    });
    last = now;
  }
  return rows;
}

/**
 * @returns hash of the last transaction done
 * @throws when the sync has failed
 */
async function readCursor({ host }: BenchService): Promise<string | null> {
  const row = await host.d1
    .prepare("SELECT position->>2 AS tx, error FROM source_cursor")
    .first<{ tx: string | null; error: string | null }>();
  if (row?.error) throw new Error(`the sync failed: ${row.error}`);
  return row?.tx ?? null;
}

/** A sync that did something else than what was measured must not count. */
async function checkRecords({ host }: BenchService, count: number): Promise<void> {
  const row = await host.d1
    .prepare(
      `SELECT (SELECT count(*) FROM escrow_transaction) AS changes,
         (SELECT count(*) FROM escrow WHERE error IS NOT NULL) AS errors`,
    )
    .first<{ changes: number; errors: number }>();
  if (row?.changes !== 2 * count || row.errors > 0)
    throw new Error(`the sync wrote ${row?.changes} changes, ${row?.errors} records with errors`);
}
