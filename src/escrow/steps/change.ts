/** How a record is changed by a request: decided on, written once, and told to whoever has to act. */
import { type Database, db, violates } from "../../db/client.ts";
import { open } from "../../db/sealed.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { type AuditEntry, commitAudited } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import type { Remember } from "../../http/idempotency.ts";
import { readTip } from "../../indexer/chain-tip.ts";
import { activeSource } from "../../sources/active.ts";
import { drivesOf } from "../../sources/drives.ts";
import { providerFor } from "../../sources/provider.ts";
import { providerKeyPlace, type SourceRow } from "../../sources/record.ts";
import { walletsOf } from "../../wallets/managed/find.ts";
import { wakeWallet } from "../../wallets/wake.ts";
import { FEE_TO_NOBODY, owesFeeToNobody } from "../actions/payouts.ts";
import { ChangeSet } from "../fold/changes.ts";
import { writeChanges } from "../fold/write-changes.ts";
import type { EscrowRecord, Side } from "../record.ts";
import { movingChainTime } from "../requests/clock.ts";
import type { Step, Wanted } from "../wanted.ts";
import { type Changed, changedOf, shownAfter, unchanged } from "./answer.ts";
import { endsEscrow, untimely } from "./judge.ts";

/** How often it is decided again when somebody else changes the record meanwhile. */
const ATTEMPTS = 3;

/** Decides once more, up to three times, when somebody else changes the record meanwhile. @throws ApiError 409 */
export async function decideAgain<T>(decide: () => Promise<T>, side: Side): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await decide();
    } catch (error) {
      if (!violates(error, "escrow.rev")) throw error;
      if (attempt === ATTEMPTS)
        throw new ApiError(
          "changed_concurrently",
          `blockchainIdentifier: the ${side} was changed meanwhile`,
        );
    }
}

/** Answers with what was changed, and wakes whoever has something to do with it. */
export async function answerChange<Shown>(
  c: AppContext,
  database: Database,
  changed: Changed,
): Promise<Shown> {
  // Before the wallet moves the record on.
  const shown = await shownAfter<Shown>(database, { viewer: c.var.caller, env: c.env }, changed);
  const { made, network, vkey } = changed;
  const { requestId } = c.var;
  if (made !== null)
    await Promise.all([
      wakeDispatcher(c.env, requestId),
      vkey && wakeWallet(c.env, network, vkey, requestId),
    ]);
  return shown;
}

export function wrongState(reason: string): ApiError {
  return new ApiError("wrong_state", `blockchainIdentifier: ${reason}`);
}

/**
 * Leaves a record as it is, and remembers that, so that the same Idempotency-Key does nothing later either:
 * it is answered with the record as it then is.
 *
 * @param warnings - what is said of it beside the record
 */
export async function leaveUnchanged(
  database: Database,
  record: EscrowRecord,
  remember: Remember,
  warnings: readonly string[] = [],
): Promise<Changed> {
  const answer = { ...unchanged(record), warnings };
  const statements = await remember(answer);
  if (statements.length > 0) await database.batch(statements);
  return answer;
}

/** Writes what is wanted of a record from now on. @param warnings - what is said of it beside the record */
export async function changeWanted(
  c: AppContext,
  database: Database,
  record: EscrowRecord,
  wanted: Wanted,
  audited: Omit<AuditEntry, "target">,
  remember: Remember,
  warnings: readonly string[] = [],
): Promise<Changed> {
  const { id, network, sourceId } = record;
  const tipHeight = (await readTip(database, network)) ?? 0;
  const changes = new ChangeSet([record], audited.now, tipHeight);
  changes.want(record, wanted);
  const changed = { ...changedOf(changes, record, tipHeight), warnings };
  await commitAudited(c, database, { ...audited, target: id }, [
    ...(await remember(changed)),
    ...writeChanges(changes, { sourceId, network }),
  ]);
  return changed;
}

/**
 * What only the wallet, its source and the chain's time can say against a step.
 *
 * @param name - what the step is called in messages
 * @throws ApiError 409, 503; ProviderError
 */
export async function refuseUnlessPossible(
  c: AppContext,
  record: EscrowRecord,
  name: string,
  step: Step,
  now: number,
): Promise<void> {
  const source = await drivenSource(c, record, step);
  if (step === "Withdraw" && owesFeeToNobody(source)) throw wrongState(FEE_TO_NOBODY);
  const key = await open(c.env, providerKeyPlace(source.id), source.rpcProviderApiKey);
  const provider = await providerFor(c.env, source.network, key, { caller: c.var.caller.id });
  const time = await movingChainTime(c, provider, source.id, now, endsEscrow(step));
  const reason = untimely(record, name, step, time);
  if (reason !== null) throw wrongState(reason);
}

/** The payment source of a record whose wallet acts for it. @throws ApiError 409, 503 */
async function drivenSource(
  c: AppContext,
  { sourceId, wallet }: EscrowRecord,
  step: Step,
): Promise<SourceRow> {
  const core = db(c.env, undefined, { deadline: c.var.deadline });
  const source = await activeSource(core, sourceId);
  if (source === null) throw wrongState("its payment source was removed: nothing is done for it");
  // A purchase that is not begun has none yet.
  const wallets = wallet === null ? [] : await walletsOf(core, [source.id]);
  const own = wallets.find(({ vkey }) => vkey === wallet?.vkey);
  if (wallet !== null && own === undefined)
    throw wrongState("its wallet was removed: add it again to have something done");
  const drives = own ? drivesOf(source, own) : source.drives;
  if (drives === "nothing" || (step === "FundsLocking" && drives !== "all")) {
    const ofSource = source.drives === drives || own === undefined;
    const [what, { id }] = ofSource ? ["payment source", source] : ["wallet", own];
    throw new ApiError(503, `The ${what} ${id} takes no steps: its drives is ${drives}`, {
      retryAfter: 300,
    });
  }
  return source;
}
