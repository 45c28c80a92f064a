/**
 * The jobs of the demo's agents, as MIP-003 has them: `POST /start_job` answers a quote of the service,
 * `GET /input_schema` describes the input, and `GET /status?job_id=` says how far a job is. A job that
 * is paid is delivered a moment later, unless its text is `never`.
 */
import { randomUUID } from "node:crypto";
import { hashInput, hashResult } from "../../client/hashes.ts";
import { type ApiAccess, ask } from "../client/api.ts";
import { until } from "../client/wait.ts";
import { contractOf } from "../contracts/index.ts";
import type { AgentAnswer, Agents } from "./agents.ts";

const NETWORK = "Preprod";
const MINUTE_MS = 60_000;
const POLL_MS = 2_000;
/** Long enough where the clock of the chain is minutes ahead. */
const PAY_BY_MINUTES = 10;
/** Text of a job that no agent delivers, so that a buyer can try a refund. */
const UNDELIVERED = "never";
const NONCE = /^(?:[0-9a-f]{2}){7,13}$/;

const INPUT_SCHEMA = {
  input_data: [{ id: "text", type: "string", name: "The text that the agent works on" }],
};

interface Job {
  status: "awaiting_payment" | "running" | "completed" | "failed";
  result: string | null;
}

/**
 * Has the agents take jobs until the signal aborts.
 *
 * @param access - with a key that may quote for their wallets
 */
export function takeJobs(agents: Agents, access: ApiAccess, signal: AbortSignal): void {
  const jobs = new Map<string, Job>();

  const startJob = async (agent: string, body: unknown): Promise<AgentAnswer> => {
    const { identifier_from_purchaser: nonce, input_data: input } = Object(body);
    if (typeof nonce !== "string" || !NONCE.test(nonce))
      return refuse(400, "identifier_from_purchaser: must be 14 to 26 digits of hex");
    if (typeof Object(input).text !== "string")
      return refuse(400, "input_data.text: must be a string");
    const agentIdentifier = await identifierOf(access, `${agents.url}/${agent}`);
    if (agentIdentifier === null) return refuse(503, "The agent is not on the chain yet.");
    const inputHash = await hashInput(nonce, input);
    const quote = await askForQuote(access, agentIdentifier, nonce, inputHash);
    const jobId = randomUUID();
    const job: Job = { status: "awaiting_payment", result: null };
    jobs.set(jobId, job);
    work(access, job, { quote, nonce, text: input.text }, signal).catch(() => {
      job.status = "failed";
    });
    return { status: 200, json: { status: "success", job_id: jobId, ...quoteAnswer(quote) } };
  };

  agents.answerWith(async ({ agent, path, method, query, body }) => {
    if (path === "input_schema") return { status: 200, json: INPUT_SCHEMA };
    if (path === "start_job" && method === "POST") return startJob(agent, body);
    if (path !== "status") return null;
    const jobId = query.get("job_id") ?? "";
    const job = jobs.get(jobId);
    return job ? { status: 200, json: { job_id: jobId, ...job } } : refuse(404, "No such job.");
  });
}

const refuse = (status: number, message: string): AgentAnswer => ({
  status,
  json: { status: "error", message },
});

/** The identifier of the agent at an address; null before its token is on the chain. */
async function identifierOf(access: ApiAccess, apiBaseUrl: string): Promise<string | null> {
  interface Found {
    apiBaseUrl: string;
    agentIdentifier: string | null;
  }
  const body = { network: NETWORK, limit: 50, filter: { status: ["Online", "Offline"] } };
  const { entries } = await ask<{ entries: Found[] }>(access, "POST", "/registry-entry", body);
  const list = `/registry?network=${NETWORK}`;
  const { Assets } = await ask<{ Assets: Found[] }>(access, "GET", list);
  const found = [...entries, ...Assets].find((one) => one.apiBaseUrl === apiBaseUrl);
  return found?.agentIdentifier ?? null;
}

/** What is read of the service's quote. */
interface Quote {
  blockchainIdentifier: string;
  agentIdentifier: string;
  inputHash: string;
  identifierFromPurchaser: string;
  payByTime: string;
  submitResultTime: string;
  unlockTime: string;
  externalDisputeUnlockTime: string;
  sellerVKey: string;
  sellerReturnAddress: string | null;
}

/**
 * Can be bought for eight minutes; the result is due 26 minutes from now, and paid out after 41.
 *
 * @param now - epoch milliseconds
 */
export async function askForQuote(
  access: ApiAccess,
  agentIdentifier: string,
  identifierFromPurchaser: string,
  inputHash: string,
  now = Date.now(),
): Promise<Quote> {
  const at = (minutes: number) => new Date(now + minutes * MINUTE_MS).toISOString();
  const quote = await ask<Quote>(access, "POST", "/payment", {
    network: NETWORK,
    ...{ agentIdentifier, identifierFromPurchaser, inputHash },
    payByTime: at(PAY_BY_MINUTES),
    submitResultTime: at(26),
    unlockTime: at(41),
    externalDisputeUnlockTime: at(56),
    ...(isOnV2(agentIdentifier) && { supportedPaymentSourceIndex: 0 }),
  });
  return { ...quote, agentIdentifier, identifierFromPurchaser, inputHash };
}

const isOnV2 = (agentIdentifier: string) =>
  agentIdentifier.startsWith(contractOf("Web3ChainV2").policy.hash);

/** A quote in the names of MIP-003. */
export function quoteAnswer(quote: Quote): object {
  return {
    blockchainIdentifier: quote.blockchainIdentifier,
    agentIdentifier: quote.agentIdentifier,
    sellerVKey: quote.sellerVKey,
    identifierFromPurchaser: quote.identifierFromPurchaser,
    input_hash: quote.inputHash,
    payByTime: Number(quote.payByTime),
    submitResultTime: Number(quote.submitResultTime),
    unlockTime: Number(quote.unlockTime),
    externalDisputeUnlockTime: Number(quote.externalDisputeUnlockTime),
    ...(isOnV2(quote.agentIdentifier) && {
      supportedPaymentSourceIndex: 0,
      ...(quote.sellerReturnAddress !== null && { sellerReturnAddress: quote.sellerReturnAddress }),
    }),
  };
}

/** Waits for the payment of a job, and delivers. */
async function work(
  access: ApiAccess,
  job: Job,
  { quote, nonce, text }: { quote: Quote; nonce: string; text: string },
  signal: AbortSignal,
): Promise<void> {
  const body = { network: NETWORK, blockchainIdentifier: quote.blockchainIdentifier };
  const isPaid = async () => {
    const path = "/payment/resolve-blockchain-identifier";
    const { onChainState } = await ask<{ onChainState: string | null }>(access, "POST", path, body);
    return onChainState === "FundsLocked";
  };
  const limitMs = PAY_BY_MINUTES * MINUTE_MS;
  await until(isPaid, { what: "the payment of a job", everyMs: POLL_MS, limitMs, signal });
  job.status = "running";
  if (text === UNDELIVERED) return;
  const result = `Done by the demo: ${text}`;
  const submitResultHash = await hashResult(nonce, result);
  await ask(access, "POST", "/payment/submit-result", { ...body, submitResultHash });
  Object.assign(job, { status: "completed", result });
}
