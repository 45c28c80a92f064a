import pMap from "p-map";
import type { Network } from "../../chain/network.ts";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { reserveStamps, stampSql } from "../../db/clock.ts";
import {
  fetchPublic,
  PublicFetchError,
  type PublicFetchOptions,
} from "../../http/outbound/fetch-public.ts";
import { log } from "../../log.ts";
import type { AgentHealth } from "../entries/entry.ts";

/** What a run of health checks works with. */
interface HealthContext {
  db: Database;
  network: Network;
  sourceId: string;
  fetchOptions: OutboundOptions;
  /** How often an agent is checked that answers as before. */
  intervalMs: number;
  /** Epoch milliseconds. */
  now(): number;
}

/** An agent that is due. */
interface DueAgent {
  id: string;
  agent_identifier: string;
  api_base_url: string;
  health: AgentHealth;
  revision: number;
  failures: number;
  /** Epoch milliseconds. */
  due_at: number;
}

interface CheckOutcome {
  agent: DueAgent;
  /** Null: the check itself failed, which says nothing of the agent. */
  result: CheckResult | null;
}

/** What one check found. */
interface CheckResult {
  health: AgentHealth;
  /** Why the agent is not Online, for people: no text of the agent's. Null: it is. */
  error: string | null;
}

/** Agents checked between two writes. */
const CHUNK_SIZE = 60;
/** Failed checks in a row after which an agent that was online no longer is. */
const FAILURE_THRESHOLD = 3;
/** The pause before a failed check is repeated. */
const RETRY_DELAY_MS = 60_000;
/** How much longer the pause grows for an agent that stays `Invalid`: up to 32 intervals, 16 h. */
const MAX_BACKOFF_EXPONENT = 5;

/**
 * Checks the agents of a source that are due, healthy ones first, so that those that do not answer
 * cannot delay them. Every agent is checked again, whatever it answered.
 *
 * @param deadline - epoch milliseconds after which no further agent is asked
 * @returns whether more are due
 */
export async function checkAgentHealth(context: HealthContext, deadline: number): Promise<boolean> {
  for (;;) {
    const agents = await listDueAgents(context);
    const outcomes = await checkAgents(agents, context, deadline);
    if (outcomes.length > 0) await writeOutcomes(context, outcomes);
    if (outcomes.length < agents.length) return true;
    if (agents.length < CHUNK_SIZE) return false;
  }
}

function listDueAgents({ db, sourceId, now }: HealthContext): Promise<DueAgent[]> {
  return db.all<DueAgent>(
    `SELECT e.id, e.agent_identifier, e.api_base_url, e.health, e.revision, h.failures, h.due_at
     FROM (SELECT entry_id, failures, due_at FROM registry_health
           WHERE source_id = ?1 AND due_at <= ?2
           ORDER BY failures >= ${FAILURE_THRESHOLD}, due_at LIMIT ${CHUNK_SIZE}) AS h
     JOIN registry_entry AS e ON e.id = h.entry_id`,
    sourceId,
    now(),
  );
}

/**
 * Asks agents until the time is over, those that share an address once. Agents that hang take the
 * time of others, so the results so far must not wait for the rest.
 */
async function checkAgents(
  agents: DueAgent[],
  context: HealthContext,
  deadline: number,
): Promise<CheckOutcome[]> {
  const answers = new Map<string, Availability | null>();
  const checkUrl = async (url: string) => {
    if (context.now() < deadline) answers.set(url, await tryFetchAvailability(url, context));
  };
  await pMap(new Set(agents.map((agent) => agent.api_base_url)), checkUrl, {
    concurrency: MAX_CONCURRENT_FETCHES,
  });
  return agents.flatMap((agent) => {
    const answer = answers.get(agent.api_base_url);
    if (answer === undefined) return [];
    return [{ agent, result: answer && evaluateAvailability(answer, agent.agent_identifier) }];
  });
}

/** One check that fails must not lose what the others found. */
async function tryFetchAvailability(
  url: string,
  { fetchOptions: outbound, sourceId }: HealthContext,
): Promise<Availability | null> {
  try {
    return await fetchAvailability(url, outbound);
  } catch (error) {
    log("error", "registry.check_failed", { source: sourceId, url, error: String(error) });
    return null;
  }
}

/**
 * Writes counters, and the status of agents whose health changed. What a transaction did to an
 * agent meanwhile wins: of that agent only the counters are written.
 */
async function writeOutcomes(context: HealthContext, outcomes: CheckOutcome[]): Promise<void> {
  const { db } = context;
  const now = context.now();
  const checks = outcomes.map(({ agent, result }) => toHealthUpdate(agent, result, now, context));
  const changed = checks.filter(({ before, health }) => health !== before);
  await db.batch([...writeHealth(context.network, changed, now), writeCounters(checks, now)]);
}

type HealthUpdate = ReturnType<typeof toHealthUpdate>;

/**
 * One success makes an agent Online; three failures in a row make it Offline. A check that failed
 * itself is not counted, and is repeated after a pause.
 */
function toHealthUpdate(
  agent: DueAgent,
  result: CheckResult | null,
  now: number,
  { sourceId, intervalMs }: HealthContext,
) {
  const isJudged = result !== null;
  const isSuccess = result?.health === "Online";
  const failures = isSuccess ? 0 : agent.failures + (isJudged ? 1 : 0);
  const isDecided = isJudged && (isSuccess || failures >= FAILURE_THRESHOLD);
  const health = isDecided ? result.health : agent.health;
  return {
    sourceId,
    entryId: agent.id,
    revision: agent.revision,
    before: agent.health,
    health,
    isJudged,
    isSuccess,
    error: result?.error ?? null,
    failures,
    wasDueAt: agent.due_at,
    dueAt: now + (isJudged ? computeCheckDelay(health, failures, intervalMs) : RETRY_DELAY_MS),
  };
}

/** Milliseconds until the next check; a little random, so that checks spread over time. */
function computeCheckDelay(health: AgentHealth, failures: number, intervalMs: number): number {
  const isUnclear = failures > 0 && failures < FAILURE_THRESHOLD;
  const backOff =
    health === "Invalid"
      ? 2 ** Math.min(Math.max(failures - FAILURE_THRESHOLD, 0), MAX_BACKOFF_EXPONENT)
      : 1;
  const longest = isUnclear ? Math.min(RETRY_DELAY_MS, intervalMs) : intervalMs * backOff;
  return Math.round(longest * (0.9 + 0.1 * Math.random()));
}

function writeHealth(network: Network, changed: HealthUpdate[], now: number): Statement[] {
  if (changed.length === 0) return [];
  const at = stampSql("registry", network, changed.length, "item.key");
  return [
    reserveStamps("registry", network, changed.length, now),
    statement(
      `UPDATE registry_entry SET revision = revision + 1, health = v->>'health', status = v->>'health',
         updated_at = ?, status_updated_at = at
       FROM (SELECT item.value AS v, ${at.sql} AS at FROM json_each(?) AS item)
       WHERE registry_entry.id = v->>'entryId' AND registry_entry.revision = v->>'revision'`,
      now,
      ...at.params,
      JSON.stringify(changed),
    ),
  ];
}

/**
 * An agent that was burned or moved while it was asked has another next check by now, and keeps it.
 * The source's id comes with each item: so the items lead to the rows, and not every row to all items.
 */
function writeCounters(checks: HealthUpdate[], now: number): Statement {
  return statement(
    `UPDATE registry_health SET checks = checks + (v->>'isJudged'),
       successes = successes + (v->>'isSuccess'),
       last_check_at = iif(v->>'isJudged', ?, last_check_at),
       last_check_error = iif(v->>'isJudged', v->>'error', last_check_error), failures = iif(due_at = v->>'wasDueAt', v->>'failures', failures),
       due_at = iif(due_at = v->>'wasDueAt', v->>'dueAt', due_at)
     FROM (SELECT item.value AS v FROM json_each(?) AS item)
     WHERE source_id = v->>'sourceId' AND entry_id = v->>'entryId'`,
    now,
    JSON.stringify(checks),
  );
}

const CHECK_TIMEOUT_MS = 15_000;
const MAX_RESPONSE_BYTES = 64 * 1024;
/** The type that agents of this protocol name in their answer. */
const AGENT_TYPE = "masumi-agent";
const NO_JSON = "the answer is no JSON object";

/** What an agent's `/availability` answered: its JSON, or what went wrong before there was any. */
type Availability = { answer: unknown } | CheckResult;

/** Which addresses guarded fetches may reach, and how names are resolved. */
type OutboundOptions = Pick<PublicFetchOptions, "loopbackOrigins" | "resolverUrl" | "resolve">;

/**
 * Asks an agent whether it is available. An address that may not be asked makes it `Invalid`, all
 * else that fails `Offline`.
 *
 * @param apiBaseUrl - as the agent's metadata has it
 */
async function fetchAvailability(
  apiBaseUrl: string,
  outbound: OutboundOptions,
): Promise<Availability> {
  // The path that is put behind it would be a part of the query.
  if (/[?#]/.test(apiBaseUrl))
    return { health: "Invalid", error: "apiBaseUrl: must have no query and no fragment" };
  try {
    const { status, body } = await fetchPublic(
      `${apiBaseUrl.trim().replace(/\/$/, "")}/availability`,
      {
        ...outbound,
        allowHttp: true,
        headers: { accept: "application/json" },
        timeoutMs: CHECK_TIMEOUT_MS,
        maxBytes: MAX_RESPONSE_BYTES,
      },
    );
    if (status < 200 || status > 299)
      return { health: "Offline", error: `the agent answered HTTP ${status}` };
    return { answer: JSON.parse(new TextDecoder().decode(body)) };
  } catch (error) {
    if (error instanceof PublicFetchError)
      return error.reason === "refused"
        ? { health: "Invalid", error: `apiBaseUrl: ${error.message}` }
        : { health: "Offline", error: error.message };
    if (error instanceof SyntaxError) return { health: "Offline", error: NO_JSON };
    throw error;
  }
}

/**
 * What an answer says of one agent. One that names another agent, or is not an agent's at all, is
 * `Invalid`; an agent that says it is unavailable is `Offline`.
 */
function evaluateAvailability(availability: Availability, agentIdentifier: string): CheckResult {
  if ("health" in availability) return availability;
  const { answer } = availability;
  if (typeof answer !== "object" || answer === null) return { health: "Offline", error: NO_JSON };
  const { agentIdentifier: named, type, status } = answer as Record<string, unknown>;
  if (named && named !== agentIdentifier)
    return { health: "Invalid", error: "the answer has another agentIdentifier" };
  if (!named && type !== AGENT_TYPE)
    return { health: "Invalid", error: `the answer must have the type ${AGENT_TYPE}` };
  return status === "unavailable"
    ? { health: "Offline", error: "the agent answered that it is unavailable" }
    : { health: "Online", error: null };
}
