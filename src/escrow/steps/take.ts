import { db } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import type { AppContext } from "../../http/context.ts";
import { idempotently } from "../../http/idempotency.ts";
import type { Want } from "../wanted.ts";
import { ASKED } from "./asked.ts";
import {
  answerChange,
  changeWanted,
  decideAgain,
  leaveUnchanged,
  refuseUnlessPossible,
  wrongState,
} from "./change.ts";
import { findOwn, type NamedEscrow } from "./find.ts";
import { judge, type StepAsked } from "./judge.ts";
import { sizeWarnings } from "./size-warnings.ts";

/**
 * Has the wallet of an escrow's party take a step. What is under way, or what the chain shows already, is
 * answered with the record, and nothing is done.
 *
 * @param now - epoch milliseconds
 * @returns the record, and what is said of the step, once per Idempotency-Key
 * @throws ApiError 403, 404, 409, 422, 503; ProviderError
 */
export async function takeStep<Shown>(
  c: AppContext,
  asked: StepAsked,
  { network, blockchainIdentifier }: Omit<NamedEscrow, "side">,
  now: number,
): Promise<Shown & { Warnings: string[] }> {
  const database = db(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  const named = { side: ASKED[asked.name].side, network, blockchainIdentifier };
  const changed = await idempotently(c, database, now, (remember) =>
    decideAgain(async () => {
      const { record, newest } = await findOwn(database, c.var.caller, named);
      const verdict = judge(record, asked, newest);
      const warnings = await sizeWarnings(c.env, database, record, asked.name);
      if (verdict.is === "done") return leaveUnchanged(database, record, remember, warnings);
      if (verdict.is === "refused") throw wrongState(verdict.reason);
      const { step } = verdict;
      await refuseUnlessPossible(c, record, asked.name, step, now);
      const { resultHash } = asked;
      const want: Want = { id: newId(now), step, resultHash, by: c.var.caller.id, since: now };
      const wanted = { ...record.wanted, want, underWay: null, error: null };
      const audited = { action: `${record.side}.step`, detail: { network, step }, now } as const;
      return changeWanted(c, database, record, wanted, audited, remember, warnings);
    }, named.side),
  );
  const shown = await answerChange<Shown>(c, database, changed);
  return { ...shown, Warnings: [...(changed.warnings ?? [])] };
}
