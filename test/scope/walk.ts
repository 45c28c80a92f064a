import type { Scope } from "../../src/http/scope.ts";
import { saveDatabase } from "../support/restore.ts";
import { countWrites, rowsWritten } from "../support/written-rows.ts";
import { findMarkers, hasResources, maskAnswer } from "./answers.ts";
import type { Deployment } from "./deployment/open-deployment.ts";
import { type Exception, findException } from "./exceptions.ts";
import type { Probe } from "./probes/probe.ts";
import { findNames, RESOURCES, type Resources } from "./resources.ts";
import type { Answered, Fields } from "./service.ts";
import { maySee, type Stranger } from "./strangers.ts";
import { compareTables, readTables, type Tables, TRACES } from "./tables.ts";

/** Sends a request with an API key to an operation or a tool. */
export type Ask = (name: string, fields: Fields, token?: string) => Promise<Answered>;

/** A deployment, the rows of its database, and the function that sends requests to it. */
export interface Walked {
  deployment: Deployment;
  tables: Tables;
  restore: () => Promise<void>;
  ask: Ask;
  scopeOf: (name: string) => Scope;
  /** The status of an answer to a key that lacks the permission or the network. */
  refusal: number;
  /** The exceptions without which the walk would have found a leak. */
  needed: Set<Exception>;
}

/** Saves the database, which is restored after each request that changes it. */
export async function startWalk(
  walked: Pick<Walked, "deployment" | "ask" | "scopeOf" | "refusal">,
): Promise<Walked> {
  const [restore, tables] = [await saveDatabase(), await readTables()];
  await countWrites(TRACES);
  return { ...walked, tables, restore, needed: new Set() };
}

/** Sends a request, compares the database with the one before, and restores that. */
async function send(
  { ask, restore, tables }: Walked,
  name: string,
  fields: Fields,
  token?: string,
): Promise<Answered & { changes: string[] }> {
  const written = await rowsWritten();
  const answer = await ask(name, fields, token);
  if ((await rowsWritten()) === written) return { ...answer, changes: [] };
  const changes = compareTables(tables, await readTables());
  await restore();
  return { ...answer, changes };
}

/** Finds what a request shows, reveals or changes for a stranger that it must not. */
export async function findLeaks(
  walked: Walked,
  name: string,
  probe: Probe,
  stranger: Stranger,
): Promise<string[]> {
  const { deployment } = walked;
  const { resources, markers, tokens } = deployment;
  const scope = walked.scopeOf(name);
  const exception = findException(name, stranger);
  const fields = probe.fields(resources, deployment);
  const answer = await send(walked, name, fields, tokens[stranger]);
  /** Whether the exception allows what would be a leak, and so is needed. */
  const isAllowed = (isAllowedBy: (one: Exception) => boolean | undefined) => {
    const isIt = exception !== undefined && isAllowedBy(exception) === true;
    if (isIt) walked.needed.add(exception);
    return isIt;
  };
  const leaks = findMarkers(answer, fields, markers, stranger)
    .filter((marker) => !isAllowed(({ shows }) => shows?.includes(marker)))
    .map((marker) => `shows ${marker}`);
  const isElsewhere = stranger === "another network" && "network" in fields;
  if ((scope === "admin" || isElsewhere) && answer.status !== walked.refusal)
    leaks.push(`is not refused with ${walked.refusal}`);
  if (isRevealedTo(probe, answer, stranger)) leaks.push("reveals what is the owner's");

  const named = findNames(resources, (all) => probe.fields(all, deployment));
  const hidden = named.filter((resource) => !maySee(stranger, RESOURCES[resource]));
  const none: Resources = {
    ...resources,
    ...Object.fromEntries(hidden.map((resource) => [resource, deployment.madeUp[resource]])),
  };
  const missing =
    hidden.length === 0
      ? answer
      : await send(walked, name, probe.fields(none, deployment), tokens[stranger]);
  const [one, other] = [maskAnswer(answer, resources), maskAnswer(missing, none)];
  if (one !== other && !isAllowed(({ differs }) => differs?.includes(answer.status)))
    leaks.push(`reveals that ${hidden} exists: ${one} is not ${other}`);

  // A stranger may create records from what it may name.
  const isBound = stranger !== "another owner" && stranger !== "another network";
  const mayMake = one === other && !(isBound && scope === "wallets");
  const forbidden = mayMake ? answer.changes.filter(isOfOthers) : answer.changes;
  if (forbidden.length > 0 && !isAllowed(({ mayChange }) => mayChange))
    leaks.push(...forbidden.map((line) => `changes: ${line.slice(0, 200)}`));
  return leaks.map((leak) => `${leak} (${formatRequest(fields, answer)})`);
}

function isRevealedTo({ reveals }: Probe, { status, body }: Answered, stranger: Stranger): boolean {
  return Boolean(
    reveals && !maySee(stranger, reveals.audience) && status === 200 && reveals.isRevealed(body),
  );
}

/** Whether a change is more than an added row and the counters that the row moves. */
const isOfOthers = (line: string) => /^\w+ had /.test(line) && !line.startsWith("clock ");

/** Finds why a request does not serve a key: it is refused, or shows and changes nothing. */
export async function findFailures(
  walked: Walked,
  name: string,
  probe: Probe,
  token?: string,
): Promise<string[]> {
  const { deployment } = walked;
  const { resources } = deployment;
  const fields = probe.fields(resources, deployment);
  const answer = await send(walked, name, fields, token);
  const isShown = probe.reveals?.isRevealed(answer.body) ?? hasResources(answer, fields, resources);
  return [
    ...(answer.status === (probe.status ?? 200) ? [] : ["is refused"]),
    ...(isShown || answer.changes.length > 0 ? [] : ["shows and changes nothing"]),
  ].map((failure) => `${failure} (${formatRequest(fields, answer)})`);
}

const formatRequest = (fields: Fields, { status, body }: Answered) =>
  `${JSON.stringify(fields).slice(0, 200)}: ${status} ${body.slice(0, 200)}`;
