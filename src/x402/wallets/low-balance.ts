import { and, desc, eq, getTableColumns, lt, sql } from "drizzle-orm";
import pMap from "p-map";
import type * as z from "zod";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { type Database, openDb, violates } from "../../db/client.ts";
import { nextRevisionSql } from "../../db/revision.ts";
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
  openCheckDatabase,
  splitIntoPortions,
  writeBalances,
} from "../../wallets/rules/check-rules.ts";
import { createRuleRow, openRuleDatabase } from "../../wallets/rules/rule-store.ts";
import type { BalanceRuleRow } from "../../wallets/rules/tables.ts";
import { decodeBalance, encodeBalanceCall, toRpcUnavailableError } from "../evm/balance.ts";
import { type Rpc, RpcRefusal } from "../evm/rpc.ts";
import { x402BalanceRule, x402Network, x402Wallet } from "../model/tables.ts";
import {
  findEvmWallet,
  type NetworkRow,
  openRpc,
  type WalletRow,
} from "../networks/settlement-network.ts";
import type { BalanceRuleBody, BalanceRuleQuery, balanceRuleChange } from "./schemas.ts";

/** Time of a check for reading balances, of which a silent node takes eight seconds. */
const CHECK_TIMEOUT_MS = 20_000;
/** Calls in one request to a node. */
const MAX_CALLS_PER_REQUEST = 50;

/**
 * Creates the rule for a wallet and an asset, or changes it.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404, 422
 */
export async function saveBalanceRule(
  c: AppContext,
  { caip2Network, ...body }: BalanceRuleBody,
  now: number,
) {
  const core = openRuleDatabase(c);
  const wallet = await findEvmWallet(core, body.evmWalletId);
  if (!wallet) throw new ApiError(404, "evmWalletId: there is no such wallet");
  if (caip2Network !== undefined && caip2Network !== wallet.caip2Id)
    throw new ApiError(400, `caip2Network: the wallet is on ${wallet.caip2Id}`);
  const { evmWalletId: walletId, asset: unit, threshold, enabled } = body;
  return runIdempotently(c, core, now, async function save(remember) {
    const [stored] = await core.orm
      .select()
      .from(x402BalanceRule)
      .where(and(eq(x402BalanceRule.walletId, walletId), eq(x402BalanceRule.unit, unit)));
    const rule = createRuleRow(c, { walletId, unit, enabled: enabled ?? true }, now);
    const changes = stored && toRuleChanges(stored, { threshold, enabled }, now);
    const row: BalanceRuleRow = stored
      ? { ...stored, ...changes }
      : { ...rule, threshold, status: "Unknown", sequence: 0 };
    const write = changes
      ? updateRule(core, stored, changes)
      : core.orm.insert(x402BalanceRule).values(row).toSQL();
    const answer = toBalanceRuleRecord({ rule: row, wallet });
    const entry = { action: "x402-low-balance.save", target: walletId, detail: body, now } as const;
    try {
      await commitWithAudit(c, core, entry, [...(await remember(answer)), write]);
    } catch (error) {
      // Another request created or changed it concurrently, or a check did, so this updates it.
      if (violates(error, "x402_balance_rule.unit") || violates(error, "x402_balance_rule.version"))
        return save(remember);
      throw error;
    }
    return answer;
  });
}

/** What a request changes of a rule; undefined: nothing. */
type RuleChange = Omit<z.output<typeof balanceRuleChange>, "id">;

/** What was found before a rule was disabled says nothing of now. */
function toRuleChanges(
  rule: BalanceRuleRow,
  { threshold = rule.threshold, enabled = rule.enabled }: RuleChange,
  now: number,
): Partial<BalanceRuleRow> {
  const isRestarted = enabled && !rule.enabled;
  const unchecked = { status: "Unknown", balance: null, checkedAt: null } as const;
  return { threshold, enabled, updatedAt: now, dueAt: 0, ...(isRestarted && unchecked) };
}

function updateRule(core: Database, rule: BalanceRuleRow, changes: Partial<BalanceRuleRow>) {
  const { id, version } = x402BalanceRule;
  return core.orm
    .update(x402BalanceRule)
    .set({ ...changes, version: nextRevisionSql(version, rule.version) })
    .where(eq(id, rule.id))
    .toSQL();
}

/**
 * Changes a rule. Its next check compares the balance with the new threshold.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404
 */
export async function changeBalanceRule(
  c: AppContext,
  { id, ...change }: { id: string } & RuleChange,
  now: number,
): Promise<ReturnType<typeof toBalanceRuleRecord>> {
  const core = openRuleDatabase(c);
  const stored = await requireRule(core, id);
  const changes = toRuleChanges(stored.rule, change, now);
  const entry = { action: "x402-low-balance.update", target: id, detail: change, now } as const;
  try {
    await commitWithAudit(c, core, entry, [updateRule(core, stored.rule, changes)]);
  } catch (error) {
    if (violates(error, "x402_balance_rule.version"))
      return changeBalanceRule(c, { id, ...change }, now);
    throw error;
  }
  return toBalanceRuleRecord(await requireRule(core, id));
}

/**
 * Deletes a rule.
 *
 * @param now - epoch milliseconds
 * @returns the rule as it was
 * @throws ApiError 404
 */
export async function deleteBalanceRule(c: AppContext, id: string, now: number) {
  const core = openRuleDatabase(c);
  const stored = await requireRule(core, id);
  await commitWithAudit(c, core, { action: "x402-low-balance.delete", target: id, now }, [
    core.orm.delete(x402BalanceRule).where(eq(x402BalanceRule.id, id)).toSQL(),
  ]);
  return toBalanceRuleRecord(stored);
}

/** @throws ApiError 404 */
async function requireRule(core: Database, id: string): Promise<WatchedWallet> {
  const [row] = await selectRules(core).where(eq(x402BalanceRule.id, id));
  if (!row) throw new ApiError(404, "id: there is no such rule");
  return row;
}

/** A rule and its wallet, which may be removed. */
interface WatchedWallet {
  rule: BalanceRuleRow;
  wallet: Pick<WalletRow, "caip2Id" | "address">;
}

function selectRules(core: Database) {
  const { caip2Id, address } = x402Wallet;
  return core.orm
    .select({ rule: getTableColumns(x402BalanceRule), wallet: { caip2Id, address } })
    .from(x402BalanceRule)
    .innerJoin(x402Wallet, eq(x402Wallet.id, x402BalanceRule.walletId));
}

/** Rules, newest first. */
export async function listBalanceRules(c: AppContext, query: BalanceRuleQuery) {
  const { id, walletId, status, enabled } = x402BalanceRule;
  const rows = await selectRules(openDb(c.env, undefined, { deadline: c.var.deadline }))
    .where(
      and(
        query.cursorId === undefined ? undefined : lt(id, query.cursorId),
        query.evmWalletId === undefined ? undefined : eq(walletId, query.evmWalletId),
        query.state && eq(status, query.state),
        query.enabled === undefined ? undefined : eq(enabled, query.enabled),
      ),
    )
    .orderBy(desc(id))
    .limit(query.limit);
  return rows.map(toBalanceRuleRecord);
}

function toBalanceRuleRecord({ rule, wallet }: WatchedWallet) {
  const { id, walletId, unit, threshold, status, checkedAt, balance, enabled } = rule;
  return {
    id,
    evmWalletId: walletId,
    caip2Network: wallet.caip2Id,
    address: wallet.address,
    asset: unit,
    threshold,
    enabled,
    state: status,
    balance,
    checkedAt: checkedAt === null ? null : toIsoTime(checkedAt),
    createdAt: toIsoTime(rule.createdAt),
    updatedAt: toIsoTime(rule.updatedAt),
  };
}

const BALANCE_REPORTER: BalanceReporter<WalletRow> = {
  rules: x402BalanceRule,
  countsChanges: true,
  // Each run of the cron checks all of them, those first that were checked longest ago.
  intervalMs: 0,
  toEvent: ({ unit: asset, threshold }, { id, caip2Id, address, note, createdById }, balance) => ({
    kind: "X402_WALLET_LOW_BALANCE",
    network: caip2Id,
    sourceId: null,
    ownerId: createdById,
    data: {
      evmWalletId: id,
      caip2Network: caip2Id,
      address,
      walletNote: note,
      asset,
      threshold,
      balance,
    },
  }),
};

/**
 * Checks balances; one that fell below its threshold since the last check causes an event. A
 * failing node leaves only its own network's rules as they are; a refused call, only its rule.
 */
export async function checkBalances(env: Env, requestId: string): Promise<void> {
  const deadline = Date.now() + CHECK_TIMEOUT_MS;
  const core = openCheckDatabase(env, deadline);
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
