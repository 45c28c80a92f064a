import { type Database, db, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { open } from "../../db/sealed.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { commitAudited } from "../../http/audit.ts";
import { permitNetwork } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { idempotently, type Remember } from "../../http/idempotency.ts";
import { readTip } from "../../indexer/chain-tip.ts";
import { activeSource } from "../../sources/active.ts";
import { drivesOf } from "../../sources/drives.ts";
import { providerFor } from "../../sources/provider.ts";
import { providerKeyPlace, type SourceRow } from "../../sources/record.ts";
import { walletsOf } from "../../wallets/managed/find.ts";
import { wakeWallet } from "../../wallets/wake.ts";
import { ChangeSet } from "../fold/changes.ts";
import { writeChanges } from "../fold/write-changes.ts";
import type { EscrowRecord, Side } from "../record.ts";
import { movingChainTime } from "../requests/clock.ts";
import type { Step, Want } from "../wanted.ts";
import { type Changed, changedOf, shownAfter, unchanged } from "./answer.ts";
import { ASKED } from "./asked.ts";
import { findOwn, type NamedEscrow } from "./find.ts";
import { endsEscrow, judge, type StepAsked, untimely } from "./judge.ts";

/** How often it is decided again when somebody else changes the record meanwhile. */
const ATTEMPTS = 3;

/**
 * Has the wallet of an escrow's party take a step. What is under way, or what the chain shows already, is
 * answered with the record, and nothing is done.
 *
 * @param now - epoch milliseconds
 * @returns the record, once per Idempotency-Key
 * @throws ApiError 403, 404, 409, 422, 503; ProviderError
 */
export async function takeStep<Shown>(
  c: AppContext,
  asked: StepAsked,
  { network, blockchainIdentifier }: Omit<NamedEscrow, "side">,
  now: number,
): Promise<Shown> {
  permitNetwork(c.var.caller, network);
  const database = db(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  const named = { side: ASKED[asked.name].side, network, blockchainIdentifier };
  const changed = await idempotently(c, database, now, (remember) =>
    decideAgain(async () => {
      const { record, newest } = await findOwn(database, c.var.caller, named);
      const verdict = judge(record, asked, newest);
      if (verdict.is === "done") return unchanged(record);
      if (verdict.is === "refused") throw wrongState(verdict.reason);
      await refuseUnlessPossible(c, record, asked, verdict.step, now);
      return want(c, database, record, wantOf(c, asked, verdict.step, now), remember);
    }, named.side),
  );
  return answerChange(c, database, changed);
}

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
  const shown = await shownAfter<Shown>(database, c.var.caller, changed);
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

/** What only the wallet, its source and the chain's time can say against a step. @throws ApiError 409, 503 */
async function refuseUnlessPossible(
  c: AppContext,
  record: EscrowRecord,
  asked: StepAsked,
  step: Step,
  now: number,
): Promise<void> {
  const source = await drivenSource(c, record);
  const key = await open(c.env, providerKeyPlace(source.id), source.rpcProviderApiKey);
  const provider = await providerFor(c.env, source.network, key, { caller: c.var.caller.id });
  const time = await movingChainTime(c, provider, source.id, now, endsEscrow(step));
  const reason = untimely(record, asked, step, time);
  if (reason !== null) throw wrongState(reason);
}

/** The payment source of a record whose wallet acts for it. @throws ApiError 409, 503 */
export async function drivenSource(c: AppContext, record: EscrowRecord): Promise<SourceRow> {
  const core = db(c.env, undefined, { deadline: c.var.deadline });
  const source = await activeSource(core, record.sourceId);
  if (source === null) throw wrongState("its payment source was removed: nothing is done for it");
  const wallets = await walletsOf(core, [source.id]);
  const wallet = wallets.find(({ vkey }) => vkey === record.wallet?.vkey);
  if (wallet === undefined)
    throw wrongState("its wallet was removed: add it again to have something done");
  if (drivesOf(source, wallet) === "nothing") {
    const [what, { id }] =
      source.drives === "nothing" ? ["payment source", source] : ["wallet", wallet];
    throw new ApiError(503, `The ${what} ${id} takes no steps: its drives is nothing`, {
      retryAfter: 300,
    });
  }
  return source;
}

function wantOf(c: AppContext, { resultHash }: StepAsked, step: Step, now: number): Want {
  return { id: newId(now), step, resultHash, by: c.var.caller.id, since: now };
}

/** Writes what is wanted of a record. */
async function want(
  c: AppContext,
  database: Database,
  record: EscrowRecord,
  wanted: Want,
  remember: Remember,
): Promise<Changed> {
  const { id, side, network, sourceId } = record;
  const { step, since: now } = wanted;
  const tipHeight = (await readTip(database, network)) ?? 0;
  const changes = new ChangeSet([record], now, tipHeight);
  changes.want(record, { ...record.wanted, want: wanted, underWay: null, error: null });
  const changed = changedOf(changes, record, tipHeight);
  await commitAudited(
    c,
    database,
    { action: `${side}.step`, target: id, detail: { network, step }, now },
    [...(await remember(changed)), ...writeChanges(changes, { sourceId, network })],
  );
  return changed;
}
