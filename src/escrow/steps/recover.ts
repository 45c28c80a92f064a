import { db } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { idempotently } from "../../http/idempotency.ts";
import { again, cleared } from "./again.ts";
import {
  answerChange,
  changeWanted,
  decideAgain,
  leaveUnchanged,
  refuseUnlessPossible,
  wrongState,
} from "./change.ts";
import { findOwn, type NamedEscrow } from "./find.ts";

/** What a person has decided. */
export interface Decision {
  /** Whether the step that failed is tried again. */
  isRetried: boolean;
  /** The record's `updatedAt` that was decided on, epoch milliseconds; null: whichever it is. */
  updatedAt: number | null;
}

/**
 * Clears a record's error, or has what failed tried again.
 *
 * @param now - epoch milliseconds
 * @returns the record, once per Idempotency-Key
 * @throws ApiError 403, 404, 409, 422, 503; ProviderError
 */
export async function recover<Shown>(
  c: AppContext,
  named: NamedEscrow,
  { isRetried, updatedAt }: Decision,
  now: number,
): Promise<Shown> {
  const { network, side } = named;
  const database = db(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  const changed = await idempotently(c, database, now, (remember) =>
    decideAgain(async () => {
      const { record } = await findOwn(database, c.var.caller, named);
      if (updatedAt !== null && record.updatedAt !== updatedAt)
        throw new ApiError(
          "changed_concurrently",
          `updatedAt: the ${side} was changed at ${new Date(record.updatedAt).toISOString()}: read it, and decide again`,
        );
      const recovery = isRetried ? again(record, now) : cleared(record);
      if (recovery.is === "nothing") return leaveUnchanged(database, record, remember);
      if (recovery.is === "refused") throw wrongState(recovery.reason);
      const { wanted, step } = recovery;
      if (step !== null && wanted.underWay === null)
        await refuseUnlessPossible(c, record, step, step, now);
      const action = isRetried ? ("retry" as const) : ("clear" as const);
      const audited = { action: `${side}.${action}`, detail: { network, step }, now } as const;
      return changeWanted(c, database, record, wanted, audited, remember);
    }, side),
  );
  return answerChange(c, database, changed);
}
