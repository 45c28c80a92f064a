import { inArray } from "drizzle-orm";
import { type Database, db } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { isoTime } from "../../http/envelope.ts";
import { log } from "../../log.ts";
import { within } from "../../timeout.ts";
import {
  balanceCall,
  balanceIn,
  decimalsCall,
  decimalsIn,
  NATIVE_DECIMALS,
  refused,
} from "../evm/balance.ts";
import { RpcRefusal, RpcUnavailable } from "../evm/rpc.ts";
import { type NetworkRow, rpcOf, type WalletRow } from "../networks/settlement-network.ts";
import { x402BalanceRule, x402Network } from "../tables.ts";
import { readWallets, type WalletQuery } from "./settings.ts";

/** Whoever asks again sooner is shown what was read last: nodes count calls. */
const KEPT_MS = 30_000;
const MAX_KEPT = 1_000;
/** Tokens that are read of a wallet, besides the native coin. */
const MAX_TOKENS = 8;
/** A silent node must not cost the answer about the others. */
const READ_MS = 7_000;

interface AssetBalance {
  /** `native`, or the token's address. */
  asset: string;
  decimals: number | null;
  /** Smallest units, decimal text; null where the token tells none. */
  amount: string | null;
}

/** What was found of a wallet. */
interface Reading {
  /** Epoch milliseconds; null when nothing was read. */
  at: number | null;
  /** Why nothing was read, for people; null when it was. */
  error: string | null;
  assets: AssetBalance[];
}

/** What a wallet is asked for: the same question is answered from here for a while. */
interface Question {
  wallet: WalletRow;
  assets: string[];
}

const kept = new Map<string, { until: number; reading: Reading }>();

/**
 * What managed EVM wallets hold: the native coin, the network's default asset, and the assets of rules
 * that watch them. One request for each network; a node that fails costs no more than the balances on its own.
 *
 * @param now - epoch milliseconds
 */
export async function listBalances(c: AppContext, query: WalletQuery, now: number) {
  const core = db(c.env, undefined, { deadline: c.var.deadline });
  const wallets = await readWallets(c, query);
  const [networks, rules] = await Promise.all([
    networksOf(core, wallets),
    watchedAssets(core, wallets),
  ]);
  const byNetwork = Map.groupBy(wallets, ({ caip2Id }) => caip2Id);
  const found = new Map<string, Reading>();
  await Promise.all(
    [...byNetwork].map(async ([caip2Id, own]) => {
      const network = networks.get(caip2Id);
      const questions = own.map((wallet) => {
        const tokens = [network?.defaultAsset ?? [], rules.get(wallet.id) ?? []].flat();
        const assets = new Set(["native", ...tokens.slice(0, MAX_TOKENS)]);
        return { wallet, assets: [...assets] };
      });
      const readings = network?.isEnabled
        ? await readOrKept(c, network, questions, now)
        : questions.map(() => failed("The network is disabled"));
      for (const [i, { id }] of own.entries()) found.set(id, readings[i] ?? failed(UNREAD));
    }),
  );
  return wallets.map(({ id, caip2Id, address }) => {
    const { at, error, assets } = found.get(id) ?? failed(UNREAD);
    return {
      evmWalletId: id,
      caip2Network: caip2Id,
      address,
      readAt: at === null ? null : isoTime(at),
      error,
      Assets: assets,
    };
  });
}

const UNREAD = "The network's RPC node could not be read";

const failed = (error: string): Reading => ({ at: null, error, assets: [] });

async function networksOf(core: Database, wallets: readonly WalletRow[]) {
  const ids = [...new Set(wallets.map(({ caip2Id }) => caip2Id))];
  const rows = await core.orm.select().from(x402Network).where(inArray(x402Network.caip2Id, ids));
  return new Map(rows.map((row) => [row.caip2Id, row]));
}

/** Tokens that rules watch, by wallet. */
async function watchedAssets(core: Database, wallets: readonly WalletRow[]) {
  const { evmWalletId, asset } = x402BalanceRule;
  const ids = wallets.map(({ id }) => id);
  const rows = await core.orm
    .select({ evmWalletId, asset })
    .from(x402BalanceRule)
    .where(inArray(evmWalletId, ids))
    .orderBy(evmWalletId, asset);
  const byWallet = Map.groupBy(rows, (row) => row.evmWalletId);
  return new Map([...byWallet].map(([id, own]) => [id, own.map((row) => row.asset)]));
}

/** Of each question what was found lately, or now. */
async function readOrKept(
  c: AppContext,
  network: NetworkRow,
  questions: readonly Question[],
  now: number,
): Promise<Reading[]> {
  // A network whose settings have changed since is another one.
  const keyOf = ({ wallet, assets }: Question) =>
    JSON.stringify([network.id, network.updatedAt, wallet.address, assets]);
  const isKept = (question: Question) => (kept.get(keyOf(question))?.until ?? 0) > now;
  const asked = questions.filter((question) => !isKept(question));
  const readings = await readOrFail(c, network, asked, now);
  if (kept.size + asked.length > MAX_KEPT) kept.clear();
  for (const [i, question] of asked.entries()) {
    const reading = readings[i];
    if (reading) kept.set(keyOf(question), { until: now + KEPT_MS, reading });
  }
  return questions.map(
    (question) =>
      readings[asked.indexOf(question)] ?? kept.get(keyOf(question))?.reading ?? failed(UNREAD),
  );
}

async function readOrFail(
  c: AppContext,
  network: NetworkRow,
  questions: readonly Question[],
  now: number,
): Promise<Reading[]> {
  if (questions.length === 0) return [];
  try {
    return await within(READ_MS, readNow(c, network, questions, now), () => {
      throw new RpcUnavailable("the RPC node takes too long", { timedOut: true });
    });
  } catch (error) {
    if (!(error instanceof RpcUnavailable)) throw error;
    const { caip2Id } = network;
    const { requestId } = c.var;
    log("warn", "x402.balances_unread", { caip2Id, requestId, error: error.message });
    return questions.map(() => failed(UNREAD));
  }
}

/** @throws RpcUnavailable */
async function readNow(
  c: AppContext,
  network: NetworkRow,
  questions: readonly Question[],
  now: number,
): Promise<Reading[]> {
  const rpc = await rpcOf(c.env, network, c.var.deadline);
  const tokens = [...new Set(questions.flatMap(({ assets }) => assets))].filter(
    (asset) => asset !== "native",
  );
  const pairs = questions.flatMap(({ wallet, assets }) =>
    assets.map((asset) => ({ wallet, asset })),
  );
  const answers = await rpc.many([
    ...tokens.map(decimalsCall),
    ...pairs.map(({ wallet, asset }) => balanceCall(wallet.address, asset)),
  ]);
  const decimals = new Map(tokens.map((asset, i) => [asset, decimalsIn(answers[i])]));
  const balances = pairs.map(({ wallet, asset }, i) => {
    const balance = balanceIn(answers[tokens.length + i]);
    if (balance instanceof RpcRefusal) throw refused(balance);
    return { wallet, asset, balance };
  });
  return questions.map(({ wallet }) => ({
    at: now,
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
