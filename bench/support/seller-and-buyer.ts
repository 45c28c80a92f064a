/** A service that sells and another that buys, on one chain whose clock jumps to what is due next. */
import { until } from "../../devnet/client/wait.ts";
import { templates } from "../../devnet/contracts/index.ts";
import { publishScripts } from "../../devnet/demo/actors/publish.ts";
import { ACTOR_FUNDS } from "../../devnet/demo/actors/wallets.ts";
import { startReceiver } from "../../devnet/demo/receiver.ts";
import type { Chain } from "../../devnet/ledger/chain.ts";
import { startDevnet } from "../../devnet/server/server.ts";
import type { OnChainState, PaymentSourceType } from "../../src/chain/network.ts";
import { countIn, openAgent, quoteJobs } from "./escrows.ts";
import { createSource } from "./selling.ts";
import { type BenchContext, type BenchService, call } from "./service.ts";
import type { StoredBytes } from "./stored-bytes.ts";
import { type StoredService, startStoredService } from "./stored-service.ts";

const MINUTE_MS = 60_000;
/** Between the withdrawals of two escrows, so that each has a separate transaction. */
const UNLOCK_EVERY_MS = 10 * MINUTE_MS;
/** More than the blocks after which a wallet's transaction is final. */
const FINAL_BLOCKS = 30;
/** More than the blocks of the deepest rollback. */
const DEEP_BLOCKS = 2_200;
const LOOK_MS = 20;
/** Between two runs of the cron. */
const CRON_MS = 500;
const STOPPED_AFTER_MS = 60_000;

/** An escrow between the two services. */
interface Sale {
  blockchainIdentifier: string;
  /** Epoch milliseconds. */
  unlockTime: number;
}

/** What each side of the escrows has stored. */
export type StoredSides = Record<"payment" | "purchase", StoredBytes>;

export interface SellerAndBuyer {
  /** The service of each side; other ones after `read`. */
  readonly services: Record<"payment" | "purchase", BenchService>;
  /** Has so many escrows locked, each in a separate block. */
  lock(count: number): Promise<Sale[]>;
  /** Submits each result and has each withdrawn, each in a separate block. Then no rollback reaches them. */
  end(sales: readonly Sale[]): Promise<void>;
  /** Reads what both services have stored, once the last transactions are final. */
  read(): Promise<StoredSides>;
}

/** Starts a service for each side. Each operator has a webhook for its escrows. */
export async function withSellerAndBuyer<Result>(
  context: BenchContext,
  type: PaymentSourceType,
  run: (services: SellerAndBuyer) => Promise<Result>,
): Promise<Result> {
  const closers: (() => Promise<void>)[] = [];
  try {
    const devnet = await startDevnet();
    closers.push(() => devnet.close());
    const receiver = await startReceiver();
    closers.push(() => receiver.close());
    const node = devnet.createChain("bench", { funds: ACTOR_FUNDS });
    publishScripts(node.chain);
    node.chain.mine();
    const start = async () => {
      const stored = await startStoredService(context, {
        BLOCKFROST_URL_PREPROD: node.url,
        CONTRACT_TEMPLATES: JSON.stringify(templates()),
        LOOPBACK_ORIGINS: [devnet.url, receiver.url].join(),
        PROVIDER_CALLS_PER_SECOND: "1000000",
        CHAIN_CLOCK: "tip",
      });
      closers.push(() => stored.service.host.close());
      return stored;
    };
    const sides = { payment: await start(), purchase: await start() };
    await createSource(sides.payment.service, type, { sells: true, buys: false });
    await createSource(sides.purchase.service, type, { sells: false, buys: true });
    await sides.payment.subscribe(receiver, "PAYMENT_ON_CHAIN_STATUS_CHANGED");
    await sides.purchase.subscribe(receiver, "PURCHASE_ON_CHAIN_STATUS_CHANGED");
    await openAgent(sides.payment.service, node);
    return await run(createSellerAndBuyer(type, node.chain, sides));
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

function createSellerAndBuyer(
  type: PaymentSourceType,
  chain: Chain,
  { payment: seller, purchase: buyer }: Record<"payment" | "purchase", StoredService>,
): SellerAndBuyer {
  let ended = 0;

  /** Makes a block of the next transaction that a service sends. */
  const mineNext = async ({ service }: StoredService) => {
    let ranAt = performance.now();
    const isSent = async () => {
      if (chain.mempool().length > 0) return true;
      if (performance.now() - ranAt > CRON_MS) {
        await service.host.scheduled();
        ranAt = performance.now();
      }
      return false;
    };
    await until(isSent, { what: "a transaction", everyMs: LOOK_MS, limitMs: STOPPED_AFTER_MS });
    chain.mine();
  };

  const reach = async (state: OnChainState, count: number) => {
    const isThere = async (side: "payment" | "purchase", { service }: StoredService) => {
      await service.host.scheduled();
      return (await countIn(service, { side, state })) >= count;
    };
    const look = async () =>
      (await isThere("payment", seller)) && (await isThere("purchase", buyer));
    await until(look, { what: `all ${state}`, everyMs: CRON_MS, limitMs: STOPPED_AFTER_MS });
  };

  const lock = async (count: number) => {
    const now = chain.now();
    const inMinutes = (minutes: number) => now + minutes * MINUTE_MS;
    const unlockTime = (i: number) => inMinutes(300) + i * UNLOCK_EVERY_MS;
    const iso = (time: number) => new Date(time).toISOString();
    const jobs = await quoteJobs(seller.service, type, count, (i) => ({
      payByTime: iso(inMinutes(120)),
      submitResultTime: iso(inMinutes(240)),
      unlockTime: iso(unlockTime(i)),
      externalDisputeUnlockTime: iso(unlockTime(count) + 300 * MINUTE_MS),
    }));
    for (const body of jobs) {
      await call(buyer.service, "/api/v1/purchase", { method: "POST", body });
      await mineNext(buyer);
    }
    await reach("FundsLocked", count);
    return jobs.map(({ blockchainIdentifier }, i) => ({
      blockchainIdentifier,
      unlockTime: unlockTime(i),
    }));
  };

  const end = async (sales: readonly Sale[]) => {
    for (const { blockchainIdentifier } of sales) {
      const body = { network: "Preprod", blockchainIdentifier, submitResultHash: "ab".repeat(32) };
      await call(seller.service, "/api/v1/payment/submit-result", { method: "POST", body });
      await mineNext(seller);
    }
    await reach("ResultSubmitted", sales.length);
    for (const { unlockTime } of sales) {
      chain.moveTo(unlockTime + UNLOCK_EVERY_MS / 2);
      chain.mine();
      await mineNext(seller);
    }
    ended += sales.length;
    await reach("Withdrawn", ended);
    for (let i = 0; i < DEEP_BLOCKS; i++) chain.mine();
  };

  const read = async () => {
    for (let i = 0; i < FINAL_BLOCKS; i++) chain.mine();
    const { height } = chain.tip();
    return { payment: await seller.read(height), purchase: await buyer.read(height) };
  };

  return {
    get services() {
      return { payment: seller.service, purchase: buyer.service };
    },
    lock,
    end,
    read,
  };
}
