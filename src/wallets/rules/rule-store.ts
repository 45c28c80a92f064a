import { and, desc, eq, getTableName, lt, sql } from "drizzle-orm";
import { type Database, openDb, violates } from "../../db/client.ts";
import { equalsIfGiven } from "../../db/conditions.ts";
import { newId } from "../../db/id.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently } from "../../http/idempotency.ts";
import { requireActiveWallet } from "../managed/find-wallet.ts";
import type { WalletRow } from "../managed/tables.ts";
import type { RuleRow, RuleTable } from "./tables.ts";

/** What a request for a new rule has, besides the columns of the feature. */
export type NewRule = Pick<RuleRow, "walletId" | "unit" | "enabled">;

/** Opens the database for the changes of a request, which are safe to repeat. */
export function openRuleDatabase(c: AppContext): Database {
  return openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
}

/** A rule that was not checked yet. @param now - epoch milliseconds */
export function createRuleRow(
  c: AppContext,
  { walletId, unit, enabled }: NewRule,
  now: number,
): RuleRow {
  return {
    id: newId(now),
    walletId,
    unit,
    enabled,
    balance: null,
    checkedAt: null,
    dueAt: 0,
    version: 0,
    createdById: c.var.caller.id,
    createdAt: now,
    updatedAt: now,
  };
}

/** One page of the rules, of one wallet if given. */
interface RuleListQuery {
  limit: number;
  cursorId?: string | undefined;
  walletId?: string | undefined;
}

/** What a feature says of its rules about managed wallets. */
interface RuleStoreOptions<Rules extends RuleTable, Body, Changes, Rule> {
  table: Rules;
  /** Begins the actions in the audit log. */
  name: "low-balance-rule" | "top-up-rule";
  /** Whether a change may overwrite a concurrent one; otherwise it gets 409. */
  mayOverwrite: boolean;
  /** @throws ApiError for a wallet that can have no such rule */
  checkWallet?(wallet: WalletRow): void;
  /** The columns of a new rule that only this feature has. @throws ApiError 400 */
  toColumns(body: Body): Omit<Rules["$inferSelect"], keyof RuleRow>;
  /** The columns that a request changes; undefined ones are kept. @throws ApiError 400 */
  toChanges(changes: Changes, row: Rules["$inferSelect"]): object;
  /** A rule as the interface shows it. */
  render(row: Rules["$inferSelect"]): Rule;
}

/** Creates the functions that serve requests about rules. Each change leaves an audit row. */
export function createRuleStore<
  Rules extends RuleTable,
  Body extends NewRule,
  Changes extends { id: string },
  Rule,
>(kind: RuleStoreOptions<Rules, Body, Changes, Rule>) {
  const { name, render } = kind;
  const table: RuleTable = kind.table;

  const find = async (database: Database, id: string): Promise<Rules["$inferSelect"]> => {
    const [row] = await database.orm.select().from(table).where(eq(table.id, id));
    if (!row) throw new ApiError(404, "id: there is no such rule");
    return row;
  };

  /** @throws ApiError 409 for a violated constraint, else the error */
  const refuse = (error: unknown): never => {
    if (violates(error, `${getTableName(table)}.unit`))
      throw new ApiError("already_exists", "unit: the wallet has a rule for it already");
    if (violates(error, `${getTableName(table)}.version`))
      throw new ApiError("changed_concurrently", "the rule was changed meanwhile");
    throw error;
  };

  /** What a request does to rules, for a batch and its audit log. */
  const build = {
    /** @throws ApiError 400 */
    creation(c: AppContext, database: Database, body: Body, wallet: WalletRow, now: number) {
      kind.checkWallet?.(wallet);
      const row: Rules["$inferSelect"] = {
        ...createRuleRow(c, body, now),
        ...kind.toColumns(body),
      };
      const entry = { action: `${name}.create`, target: row.id, detail: body, now } as const;
      return { row, entry, statement: database.orm.insert(table).values(row).toSQL() };
    },

    /** @throws ApiError 400 */
    change(database: Database, body: Changes, row: Rules["$inferSelect"], now: number) {
      const { id, ...detail } = body;
      const isCurrent = kind.mayOverwrite ? sql`TRUE` : sql`${table.version} = ${row.version}`;
      const changes = {
        ...kind.toChanges(body, row),
        balance: null,
        checkedAt: null,
        dueAt: 0,
        updatedAt: now,
        version: sql`iif(${isCurrent}, ${table.version} + 1, NULL)`,
      };
      const entry = { action: `${name}.update`, target: id, detail, now } as const;
      const update = database.orm.update(table).set(changes).where(eq(table.id, id));
      return { entry, statement: update.toSQL() };
    },

    deletion(database: Database, id: string, now: number) {
      const entry = { action: `${name}.delete`, target: id, now } as const;
      return { entry, statement: database.orm.delete(table).where(eq(table.id, id)).toSQL() };
    },
  };

  return {
    build,
    refuse,

    /** Lists one page of rules, newest first. */
    async list(c: AppContext, { limit, cursorId, walletId }: RuleListQuery): Promise<Rule[]> {
      const { orm } = openDb(c.env, undefined, { deadline: c.var.deadline });
      const isBefore = cursorId === undefined ? undefined : lt(table.id, cursorId);
      const rows: Rules["$inferSelect"][] = await orm
        .select()
        .from(table)
        .where(and(isBefore, equalsIfGiven(table.walletId, walletId)))
        .orderBy(desc(table.id))
        .limit(limit);
      return rows.map(render);
    },

    /**
     * Creates a rule, once per Idempotency-Key.
     *
     * @param now - epoch milliseconds
     * @throws ApiError 400, 404; 409 when the wallet has a rule for the unit; 422
     */
    async create(c: AppContext, body: Body, now: number): Promise<Rule> {
      const database = openRuleDatabase(c);
      const wallet = await requireActiveWallet(database, body.walletId, "walletId");
      kind.checkWallet?.(wallet);
      return runIdempotently(c, database, now, async (remember) => {
        const { row, entry, statement } = build.creation(c, database, body, wallet, now);
        const rule = render(row);
        const statements = [...(await remember(rule)), statement];
        await commitWithAudit(c, database, entry, statements).catch(refuse);
        return rule;
      });
    },

    /**
     * Changes a rule. Its next check evaluates the balance again.
     *
     * @param now - epoch milliseconds
     * @throws ApiError 400, 404; 409 when the rule was changed concurrently
     */
    async change(c: AppContext, body: Changes, now: number): Promise<Rule> {
      const database = openRuleDatabase(c);
      const row = await find(database, body.id);
      const { entry, statement } = build.change(database, body, row, now);
      await commitWithAudit(c, database, entry, [statement]).catch(refuse);
      return render(await find(database, body.id));
    },

    /**
     * Deletes a rule.
     *
     * @param now - epoch milliseconds
     * @returns the rule as it was
     * @throws ApiError 404
     */
    async delete(c: AppContext, id: string, now: number): Promise<Rule> {
      const database = openRuleDatabase(c);
      const row = await find(database, id);
      const { entry, statement } = build.deletion(database, id, now);
      await commitWithAudit(c, database, entry, [statement]);
      return render(row);
    },
  };
}
