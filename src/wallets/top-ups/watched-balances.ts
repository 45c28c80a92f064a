import { and, asc, desc, eq, getTableColumns, isNull, lt } from "drizzle-orm";
import type { Database, Statement } from "../../db/client.ts";
import { equalsIfGiven } from "../../db/conditions.ts";
import { type AuditEntry, commitWithAudit, insertAuditRow } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently } from "../../http/idempotency.ts";
import { type ManagedWallet, requireActiveWallet } from "../managed/find-wallet.ts";
import { managedWallet, type WalletRow } from "../managed/tables.ts";
import { lowBalanceRules } from "../rules/low-balance.ts";
import { openRuleDatabase } from "../rules/rule-store.ts";
import type { LowBalanceChangeBody, NewLowBalanceBody } from "../rules/schemas.ts";
import {
  type BalanceRuleRow,
  lowBalanceRule,
  type TopUpRuleRow,
  topUpRule,
} from "../rules/tables.ts";
import { topUpRules } from "./top-up-rules.ts";

/** A low-balance rule, and the top-up rule of the same wallet and unit; null: none. */
export interface WatchedBalance {
  rule: BalanceRuleRow;
  topUp: TopUpRuleRow | null;
  wallet: ManagedWallet;
}

/** Which watched balances a list has; a filter that is left out: all. */
export interface WatchedBalanceFilter {
  ruleId?: string | undefined;
  walletId?: string | undefined;
  paymentSourceId?: string | undefined;
  isLow?: boolean | undefined;
  isEnabled?: boolean | undefined;
  /** One page, newest first, instead of the list by wallet and unit. */
  page?: { limit: number; cursorId?: string | undefined } | null;
}

/** What a balance that falls below its threshold is filled up by; null: it is only reported. */
export interface TopUpIntent {
  /** Minor units above the threshold. Left out: those of the present top-up rule. */
  amount?: string | undefined;
}

/** More rules than a deployment has. */
const MAX_WATCHED_BALANCES = 10_000;

/** Lists the watched balances of managed wallets, by wallet and unit. */
export async function listWatchedBalances(
  database: Database,
  { ruleId, walletId, paymentSourceId, isLow, isEnabled, page }: WatchedBalanceFilter,
): Promise<WatchedBalance[]> {
  const { mnemonic: _, ...walletColumns } = getTableColumns(managedWallet);
  return database.orm
    .select({
      rule: getTableColumns(lowBalanceRule),
      topUp: getTableColumns(topUpRule),
      wallet: walletColumns,
    })
    .from(lowBalanceRule)
    .innerJoin(
      managedWallet,
      and(eq(managedWallet.id, lowBalanceRule.walletId), isNull(managedWallet.deletedAt)),
    )
    .leftJoin(
      topUpRule,
      and(eq(topUpRule.walletId, lowBalanceRule.walletId), eq(topUpRule.unit, lowBalanceRule.unit)),
    )
    .where(
      and(
        equalsIfGiven(lowBalanceRule.id, ruleId),
        equalsIfGiven(lowBalanceRule.walletId, walletId),
        equalsIfGiven(managedWallet.sourceId, paymentSourceId),
        isLow ? eq(lowBalanceRule.status, "Low") : undefined,
        isEnabled ? eq(lowBalanceRule.enabled, true) : undefined,
        page?.cursorId === undefined ? undefined : lt(lowBalanceRule.id, page.cursorId),
      ),
    )
    .orderBy(
      ...(page
        ? [desc(lowBalanceRule.id)]
        : [asc(lowBalanceRule.walletId), asc(lowBalanceRule.unit)]),
    )
    .limit(page?.limit ?? MAX_WATCHED_BALANCES);
}

/**
 * Creates a low-balance rule, and a top-up rule if requested.
 *
 * @param topUp - null removes a present top-up rule of the wallet and unit; undefined keeps it
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404; 409 when the wallet has a low-balance rule for the unit; 422
 */
export async function createWatchedBalance(
  c: AppContext,
  body: NewLowBalanceBody,
  topUp: TopUpIntent | null | undefined,
  now: number,
): Promise<WatchedBalance> {
  const database = openRuleDatabase(c);
  const row = await requireActiveWallet(database, body.walletId, "walletId");
  return runIdempotently(c, database, now, async (remember) => {
    const { walletId, unit } = body;
    const [present = null] = await database.orm
      .select()
      .from(topUpRule)
      .where(and(eq(topUpRule.walletId, walletId), eq(topUpRule.unit, unit)));
    const alert = lowBalanceRules.build.creation(c, database, body, row, now);
    // A present top-up rule stays as it is unless the request wants one.
    const enabled = topUp ? body.enabled : present?.enabled;
    const at = { rule: alert.row, topUp: present, wallet: row, enabled };
    const step = buildTopUpStep(c, database, at, topUp, now);
    const { mnemonic: _, ...wallet } = row;
    const created = { rule: alert.row, topUp: step.row, wallet };
    await commit(c, database, [alert, ...step.changes], await remember(created));
    return created;
  });
}

/**
 * Changes a low-balance rule together with the top-up rule of the same wallet and unit, in one batch. The top-up
 * rule follows a changed threshold.
 *
 * @param topUp - null removes the top-up rule; undefined keeps it
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404; 409 when a rule was changed concurrently
 */
export async function changeWatchedBalance(
  c: AppContext,
  body: LowBalanceChangeBody,
  topUp: TopUpIntent | null | undefined,
  now: number,
): Promise<WatchedBalance> {
  const database = openRuleDatabase(c);
  const present = await requireWatchedBalance(database, body.id);
  const wallet = await requireActiveWallet(database, present.rule.walletId, "walletId");
  const alert = lowBalanceRules.build.change(database, body, present.rule, now);
  const { thresholdAmount: threshold = present.rule.threshold, enabled = present.rule.enabled } =
    body;
  const follows = topUp === undefined && present.topUp && body.thresholdAmount !== undefined;
  // An unchanged switch must not begin to send funds: the top-up rule may be off on its own.
  const isSwitched = topUp || enabled !== present.rule.enabled;
  const at = {
    rule: { ...present.rule, threshold, enabled },
    topUp: present.topUp,
    wallet,
    enabled: isSwitched ? enabled : present.topUp?.enabled,
  };
  const step = buildTopUpStep(c, database, at, follows ? {} : topUp, now);
  await commit(c, database, [alert, ...step.changes]);
  return requireWatchedBalance(database, body.id);
}

/**
 * Deletes a low-balance rule and the top-up rule of the same wallet and unit. A pending top-up continues.
 *
 * @param now - epoch milliseconds
 * @returns the rules as they were
 * @throws ApiError 404
 */
export async function deleteWatchedBalance(
  c: AppContext,
  id: string,
  now: number,
): Promise<WatchedBalance> {
  const database = openRuleDatabase(c);
  const present = await requireWatchedBalance(database, id);
  const { topUp } = present;
  const alert = lowBalanceRules.build.deletion(database, id, now);
  await commit(c, database, [
    alert,
    ...(topUp ? [topUpRules.build.deletion(database, topUp.id, now)] : []),
  ]);
  return present;
}

async function requireWatchedBalance(database: Database, ruleId: string): Promise<WatchedBalance> {
  const [found] = await listWatchedBalances(database, { ruleId });
  if (!found) throw new ApiError(404, "id: there is no such rule");
  return found;
}

/** A change of a rule, with its audit entry. */
interface RuleChange {
  entry: AuditEntry;
  statement: Statement;
}

/** What becomes of a top-up rule: the row, where it is new or stays, and the changes. */
interface TopUpStep {
  row: TopUpRuleRow | null;
  changes: RuleChange[];
}

/** What a top-up rule is changed for. */
interface TopUpContext extends Pick<WatchedBalance, "rule" | "topUp"> {
  wallet: WalletRow;
  /** Whether the top-up rule is on afterwards. */
  enabled: boolean | undefined;
}

/** @throws ApiError 400 */
function buildTopUpStep(
  c: AppContext,
  database: Database,
  { rule, topUp, wallet, enabled = false }: TopUpContext,
  intent: TopUpIntent | null | undefined,
  now: number,
): TopUpStep {
  const { build } = topUpRules;
  if (intent === null)
    return { row: null, changes: topUp ? [build.deletion(database, topUp.id, now)] : [] };
  if (intent === undefined) {
    if (!topUp || topUp.enabled === enabled) return { row: topUp, changes: [] };
    const change = build.change(database, { id: topUp.id, enabled }, topUp, now);
    return { row: { ...topUp, enabled }, changes: [change] };
  }
  const presentAmount = topUp && (BigInt(topUp.upTo) - BigInt(topUp.below)).toString();
  const amount = intent.amount ?? presentAmount;
  if (amount === null)
    throw new ApiError(400, "The wallet has no top-up rule for the unit: send its amount too");
  const bounds = {
    below: rule.threshold,
    upTo: (BigInt(rule.threshold) + BigInt(amount)).toString(),
    perDay: topUp?.perDay ?? null,
    enabled,
  };
  if (topUp) {
    const change = build.change(database, { id: topUp.id, ...bounds }, topUp, now);
    return { row: { ...topUp, ...bounds }, changes: [change] };
  }
  const { walletId, unit } = rule;
  const { row, ...creation } = build.creation(
    c,
    database,
    { walletId, unit, ...bounds },
    wallet,
    now,
  );
  return { row, changes: [creation] };
}

/** Writes changes of rules in one batch, each with its row of the audit log. */
async function commit(
  c: AppContext,
  database: Database,
  [first, ...others]: RuleChange[],
  statements: Statement[] = [],
): Promise<void> {
  if (!first) return;
  const rest = others.flatMap(({ entry, statement }) => [insertAuditRow(c, entry), statement]);
  const all = [...statements, first.statement, ...rest];
  await commitWithAudit(c, database, first.entry, all)
    .catch(lowBalanceRules.refuse)
    .catch(topUpRules.refuse);
}
