import { and, eq, sql } from "drizzle-orm";
import pMap from "p-map";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { type Database, openDb, violates } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently } from "../../http/idempotency.ts";
import { log } from "../../log.ts";
import {
  type BalanceReporter,
  type DueRule,
  findDueRules,
  splitIntoPortions,
  WRITE_TIMEOUT_MS,
  writeBalances,
} from "../../wallets/rules/check-rules.ts";
import { createRuleRow, listRules, openRuleDatabase } from "../../wallets/rules/rule-store.ts";
import type { BalanceRuleRow } from "../../wallets/rules/tables.ts";
import { decodeBalance, encodeBalanceCall, toRpcUnavailableError } from "../evm/balance.ts";
import { type Rpc, RpcRefusal } from "../evm/rpc.ts";
import { x402BalanceRule, x402Network, x402Wallet } from "../model/tables.ts";
import {
  findWallet,
  type NetworkRow,
  openRpc,
  type WalletRow,
} from "../networks/settlement-network.ts";

/** Time of a check for reading balances, of which a silent node takes eight seconds. */
const CHECK_TIMEOUT_MS = 20_000;
/** Calls in one request to a node. */
const MAX_CALLS_PER_REQUEST = 50;

/**
 * Creates the rule for a wallet and an asset, or changes its threshold.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404, 422
 */
export async function saveBalanceRule(
  c: AppContext,
  body: { evmWalletId: string; asset: string; threshold: string },
  now: number,
) {
  const core = openRuleDatabase(c);
  if (!(await findWallet(core, body.evmWalletId)))
    throw new ApiError(404, "evmWalletId: there is no such wallet");
  const { evmWalletId: walletId, asset: unit, threshold } = body;
  return runIdempotently(c, core, now, async function save(remember) {
    const [stored] = await core.orm
      .select()
      .from(x402BalanceRule)
      .where(and(eq(x402BalanceRule.walletId, walletId), eq(x402BalanceRule.unit, unit)));
    const rule = createRuleRow(c, { walletId, unit, enabled: true }, now);
    const row: BalanceRuleRow = stored
      ? { ...stored, threshold, updatedAt: now }
      : { ...rule, threshold, status: "Unknown", sequence: 0 };
    const write = stored
      ? core.orm
          .update(x402BalanceRule)
          .set({ threshold, updatedAt: now })
          .where(eq(x402BalanceRule.id, row.id))
      : core.orm.insert(x402BalanceRule).values(row);
    const answer = toBalanceRuleRecord(row);
    const entry = { action: "x402-low-balance.save", target: walletId, detail: body, now } as const;
    try {
      await commitWithAudit(c, core, entry, [...(await remember(answer)), write.toSQL()]);
    } catch (error) {
      // Another request created it concurrently, so this updates it.
      if (violates(error, "x402_balance_rule.unit")) return save(remember);
      throw error;
    }
    return answer;
  });
}

/** Rules, newest first. */
export async function listBalanceRules(c: AppContext, query: Parameters<typeof listRules>[2]) {
  return (await listRules(c, x402BalanceRule, query)).map(toBalanceRuleRecord);
}

function toBalanceRuleRecord({ id, walletId, unit, threshold, status, checkedAt }: BalanceRuleRow) {
  return {
    id,
    evmWalletId: walletId,
    asset: unit,
    threshold,
    state: status,
    checkedAt: checkedAt === null ? null : toIsoTime(checkedAt),
  };
}

const BALANCE_REPORTER: BalanceReporter<WalletRow> = {
  rules: x402BalanceRule,
  countsChanges: true,
  // Each run of the cron checks all of them, those first that were checked longest ago.
  intervalMs: 0,
  toEvent: ({ unit: asset, threshold }, { id, caip2Id, address, createdById }, balance) => ({
    kind: "X402_WALLET_LOW_BALANCE",
    network: caip2Id,
    sourceId: null,
    ownerId: createdById,
    data: { evmWalletId: id, caip2Network: caip2Id, address, asset, threshold, balance },
  }),
};

/**
 * Checks balances; one that fell below its threshold since the last check causes an event. A
 * failing node leaves only its own network's rules as they are; a refused call, only its rule.
 */
export async function checkBalances(env: Env, requestId: string): Promise<void> {
  const deadline = Date.now() + CHECK_TIMEOUT_MS;
  const core = openDb(env, undefined, {
    writes: "idempotent",
    deadline: deadline + WRITE_TIMEOUT_MS,
  });
  const { caip2Id } = x402Wallet;
  const isNetworkEnabled = sql`${caip2Id} IN (
    SELECT ${x402Network.caip2Id} FROM ${x402Network} WHERE ${x402Network.isEnabled})`;
  const due = await findDueRules(
    core,
    x402BalanceRule,
    x402Wallet,
    caip2Id,
    Date.now(),
    isNetworkEnabled,
  );
  if (due.length === 0) return;
  const networks = await core.orm.select().from(x402Network).where(eq(x402Network.isEnabled, true));
  const check = async (network: NetworkRow) => {
    const ofNetwork = due.filter(({ wallet }) => wallet.caip2Id === network.caip2Id);
    if (ofNetwork.length === 0) return;
    try {
      const rpc = await openRpc(env, network, deadline);
      for (const portion of splitIntoPortions(ofNetwork, MAX_CALLS_PER_REQUEST))
        if (Date.now() < deadline) await checkBalancesAtOnce(env, core, rpc, portion, requestId);
    } catch (error) {
      const about = { caip2Id: network.caip2Id, requestId, error: String(error) };
      log("warn", "x402.balances_unchecked", about);
    }
  };
  await pMap(networks, check, { concurrency: MAX_CONCURRENT_FETCHES });
}

/** One request to the node of a network for some of its rules. */
async function checkBalancesAtOnce(
  env: Env,
  core: Database,
  rpc: Rpc,
  due: readonly DueRule<BalanceRuleRow, WalletRow>[],
  requestId: string,
): Promise<void> {
  const answers = await rpc.callBatch(
    due.map(({ rule, wallet }) => encodeBalanceCall(wallet.address, rule.unit)),
  );
  const balances = answers.map(decodeBalance);
  const refusal = balances.find((balance) => balance instanceof RpcRefusal);
  const found = due.flatMap((one, i) => {
    const balance = balances[i] ?? null;
    return balance instanceof RpcRefusal ? [] : [{ ...one, balance }];
  });
  if (refusal) {
    if (found.length === 0) throw toRpcUnavailableError(refusal);
    // A node with a rate limit refuses some calls of a batch: their rules come first next time.
    const refused = due.length - found.length;
    const caip2Id = due[0]?.wallet.caip2Id;
    const about = { caip2Id, requestId, refused, error: String(refusal) };
    log("warn", "x402.calls_refused", about);
  }
  await writeBalances(env, core, BALANCE_REPORTER, found, { requestId, now: Date.now() });
}
