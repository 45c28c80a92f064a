import { inArray } from "drizzle-orm";
import { type Database, openDb } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { log } from "../../log.ts";
import { withTimeout } from "../../timeout.ts";
import {
  decodeBalance,
  decodeDecimals,
  encodeBalanceCall,
  encodeDecimalsCall,
  NATIVE_DECIMALS,
  toRpcUnavailableError,
} from "../evm/balance.ts";
import { RpcRefusal, RpcUnavailableError } from "../evm/rpc.ts";
import { x402BalanceRule, x402Network } from "../model/tables.ts";
import { type NetworkRow, openRpc, type WalletRow } from "../networks/settlement-network.ts";
import { readWallets } from "./create-wallet.ts";
import type { WalletQuery } from "./schemas.ts";

/** Nodes count calls, so balances are cached. */
const CACHE_TTL_MS = 30_000;
const MAX_CACHED_WALLETS = 1_000;
/** Tokens that are read of a wallet, besides the native coin. */
const MAX_TOKENS = 8;
/** A silent node must not delay the balances of other networks. */
const READ_TIMEOUT_MS = 7_000;

interface AssetBalance {
  /** `native`, or the token's address. */
  asset: string;
  decimals: number | null;
  /** Minor units, decimal text; null where the token tells none. */
  amount: string | null;
}

/** Balances of a wallet. */
interface WalletReading {
  /** Epoch milliseconds. Null: the reading failed. */
  readAt: number | null;
  /** Reason of a failed reading, for people. Null: no failure. */
  error: string | null;
  assets: AssetBalance[];
}

/** A wallet and the assets to read, which is also the cache key. */
interface BalanceQuery {
  wallet: WalletRow;
  assets: string[];
}

const cache = new Map<string, { until: number; reading: WalletReading }>();

/**
 * What managed EVM wallets hold: the native coin, the network's default asset, and the assets of rules
 * that watch them. One request for each network; a node that fails costs no more than the balances on its own.
 *
 * @param now - epoch milliseconds
 */
export async function listBalances(c: AppContext, query: WalletQuery, now: number) {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const wallets = await readWallets(c, query);
  const [networks, rules] = await Promise.all([
    networksOf(core, wallets),
    readWatchedAssets(core, wallets),
  ]);
  const walletsByNetwork = Map.groupBy(wallets, ({ caip2Id }) => caip2Id);
  const found = new Map<string, WalletReading>();
  await Promise.all(
    [...walletsByNetwork].map(async ([caip2Id, members]) => {
      const network = networks.get(caip2Id);
      const questions = members.map((wallet) => {
        const tokens = [network?.defaultAsset ?? [], rules.get(wallet.id) ?? []].flat();
        const assets = new Set(["native", ...tokens.slice(0, MAX_TOKENS)]);
        return { wallet, assets: [...assets] };
      });
      const readings = network?.isEnabled
        ? await readCached(c, network, questions, now)
        : questions.map(() => toFailedReading("The network is disabled"));
      for (const [i, { id }] of members.entries())
        found.set(id, readings[i] ?? toFailedReading(UNREAD_MESSAGE));
    }),
  );
  return wallets.map(({ id, caip2Id, address }) => {
    const { readAt: at, error, assets } = found.get(id) ?? toFailedReading(UNREAD_MESSAGE);
    return {
      evmWalletId: id,
      caip2Network: caip2Id,
      address,
      readAt: at === null ? null : toIsoTime(at),
      error,
      Assets: assets,
    };
  });
}

const UNREAD_MESSAGE = "The network's RPC node did not answer";

const toFailedReading = (error: string): WalletReading => ({ readAt: null, error, assets: [] });

async function networksOf(core: Database, wallets: readonly WalletRow[]) {
  const ids = [...new Set(wallets.map(({ caip2Id }) => caip2Id))];
  const rows = await core.orm.select().from(x402Network).where(inArray(x402Network.caip2Id, ids));
  return new Map(rows.map((row) => [row.caip2Id, row]));
}

/** Tokens that rules watch, by wallet. */
async function readWatchedAssets(core: Database, wallets: readonly WalletRow[]) {
  const { walletId, unit } = x402BalanceRule;
  const ids = wallets.map(({ id }) => id);
  const rows = await core.orm
    .select({ walletId, unit })
    .from(x402BalanceRule)
    .where(inArray(walletId, ids))
    .orderBy(walletId, unit);
  const byWallet = Map.groupBy(rows, (row) => row.walletId);
  return new Map([...byWallet].map(([id, members]) => [id, members.map((row) => row.unit)]));
}

/** Reads each question from the cache or from the node. */
async function readCached(
  c: AppContext,
  network: NetworkRow,
  questions: readonly BalanceQuery[],
  now: number,
): Promise<WalletReading[]> {
  // A network whose settings have changed since is another one.
  const keyOf = ({ wallet, assets }: BalanceQuery) =>
    JSON.stringify([network.id, network.updatedAt, wallet.address, assets]);
  const isCached = (question: BalanceQuery) => (cache.get(keyOf(question))?.until ?? 0) > now;
  const uncached = questions.filter((question) => !isCached(question));
  const readings = await readOrFail(c, network, uncached, now);
  if (cache.size + uncached.length > MAX_CACHED_WALLETS) cache.clear();
  for (const [i, question] of uncached.entries()) {
    const reading = readings[i];
    if (reading) cache.set(keyOf(question), { until: now + CACHE_TTL_MS, reading });
  }
  return questions.map(
    (question) =>
      readings[uncached.indexOf(question)] ??
      cache.get(keyOf(question))?.reading ??
      toFailedReading(UNREAD_MESSAGE),
  );
}

async function readOrFail(
  c: AppContext,
  network: NetworkRow,
  questions: readonly BalanceQuery[],
  now: number,
): Promise<WalletReading[]> {
  if (questions.length === 0) return [];
  try {
    return await withTimeout(READ_TIMEOUT_MS, readNow(c, network, questions, now), () => {
      throw new RpcUnavailableError("the RPC node takes too long", { timedOut: true });
    });
  } catch (error) {
    if (!(error instanceof RpcUnavailableError)) throw error;
    const { caip2Id } = network;
    const { requestId } = c.var;
    log("warn", "x402.balances_unread", { caip2Id, requestId, error: error.message });
    return questions.map(() => toFailedReading(UNREAD_MESSAGE));
  }
}

/** @throws RpcUnavailableError */
async function readNow(
  c: AppContext,
  network: NetworkRow,
  questions: readonly BalanceQuery[],
  now: number,
): Promise<WalletReading[]> {
  const rpc = await openRpc(c.env, network, c.var.deadline);
  const tokens = [...new Set(questions.flatMap(({ assets }) => assets))].filter(
    (asset) => asset !== "native",
  );
  const pairs = questions.flatMap(({ wallet, assets }) =>
    assets.map((asset) => ({ wallet, asset })),
  );
  const answers = await rpc.callBatch([
    ...tokens.map(encodeDecimalsCall),
    ...pairs.map(({ wallet, asset }) => encodeBalanceCall(wallet.address, asset)),
  ]);
  const decimals = new Map(tokens.map((asset, i) => [asset, decodeDecimals(answers[i])]));
  const balances = pairs.map(({ wallet, asset }, i) => {
    const balance = decodeBalance(answers[tokens.length + i]);
    if (balance instanceof RpcRefusal) throw toRpcUnavailableError(balance);
    return { wallet, asset, balance };
  });
  return questions.map(({ wallet }) => ({
    readAt: now,
    error: null,
    assets: balances
      .filter((one) => one.wallet === wallet)
      .map(({ asset, balance }) => ({
        asset,
        decimals: asset === "native" ? NATIVE_DECIMALS : (decimals.get(asset) ?? null),
        amount: balance === null ? null : String(balance),
      })),
  }));
}
