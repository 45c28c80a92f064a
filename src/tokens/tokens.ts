import { asc, eq } from "drizzle-orm";
import type * as z from "zod";
import { COIN_DECIMALS } from "../chain/unit.ts";
import { type Database, openDb } from "../db/client.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { runIdempotently } from "../http/idempotency.ts";
import type { tokenResponse } from "./schemas.ts";
import { unit as unitTable } from "./tables.ts";

export type Token = z.output<typeof tokenResponse>;

/** The only unit that needs no entry. */
const NATIVE_COIN: Token = { unit: "", ticker: "ADA", decimals: COIN_DECIMALS };

/** Every unit that has a name: the native coin, then tokens in the order of their units. */
export async function listTokens(core: Database): Promise<Token[]> {
  const rows = await core.orm
    .select({ unit: unitTable.unit, ticker: unitTable.ticker, decimals: unitTable.decimals })
    .from(unitTable)
    .orderBy(asc(unitTable.unit));
  return [NATIVE_COIN, ...rows];
}

/**
 * Says what a token is called and how many decimals it has, in place of what was said before.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 422
 */
export async function saveToken(c: AppContext, entry: Token, now: number): Promise<Token> {
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const change = { ...entry, updatedById: c.var.caller.id, updatedAt: now };
  return runIdempotently(c, core, now, async (remember) => {
    await commitWithAudit(
      c,
      core,
      { action: "unit.save", target: entry.unit, detail: entry, now },
      [
        ...(await remember(entry)),
        core.orm
          .insert(unitTable)
          .values(change)
          .onConflictDoUpdate({ target: unitTable.unit, set: change })
          .toSQL(),
      ],
    );
    return entry;
  });
}

/**
 * Forgets what a token is called.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404
 */
export async function deleteToken(c: AppContext, unit: string, now: number): Promise<Token> {
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const known = (await listTokens(core)).find((one) => one.unit === unit);
  if (!known) throw new ApiError(404, "unit: has no entry");
  await commitWithAudit(c, core, { action: "unit.delete", target: unit, detail: known, now }, [
    core.orm.delete(unitTable).where(eq(unitTable.unit, unit)).toSQL(),
  ]);
  return known;
}
