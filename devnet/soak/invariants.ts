/** What must hold each minute of a soak, and what must hold once it is calm. */
import { type ApiAccess, ask } from "../client/api.ts";
import { contracts } from "../contracts/index.ts";
import { ADMIN, WALLETS } from "../demo/actors/wallets.ts";
import { PAYEE } from "../demo/x402/resource.ts";
import {
  differences,
  factsOf,
  locksOnChain,
  readRecords,
  signatureOf,
} from "../drills/evidence.ts";
import { followAnew } from "../drills/follow-anew.ts";
import { dollarsOf } from "../evm/money.ts";
import type { Answers } from "./caller.ts";
import type { Deployment } from "./deployment.ts";
import type { Endpoints, ReceivedEvent } from "./endpoints.ts";
import type { Copy, Followers } from "./followers.ts";
import type { Traders } from "./traders.ts";

/** What is compared. */
export interface Observed {
  deployment: Deployment;
  traders: Traders;
  followers: Followers;
  endpoints: Endpoints;
  answers: Answers;
  /** Native minor units that the chain began with. */
  issued: bigint;
  /** Those that the fee receiver had before the first purchase. */
  feesBefore: bigint;
}

/** A check and what contradicts it. */
export interface Finding {
  invariant: string;
  evidence: string[];
}

const MAX_EVIDENCE = 10;
/** States in which nothing lies at the contract for an escrow. */
const ENDED = ["Withdrawn", "RefundWithdrawn", "DisputedWithdrawn"];
/**
 * Reasons of GET /health that an operator would expect after these faults. An outage of a provider ends with the next
 * call for its purpose, which comes with the next work.
 */
const EXPECTED_REASONS = ["ENDPOINT_DISABLED", "QUEUE_DEAD", "PROVIDER_OUT"];

type Check = (observed: Observed) => Promise<string[]> | string[];

/** Hold at any time. */
const ALWAYS: Record<string, Check> = {
  "funds to the unit": ({ deployment: { chain }, traders, issued }) => {
    const known = new Set([
      ...WALLETS.map(({ address }) => address),
      ...contracts().map(({ address }) => address),
      ...traders.transferred.map(({ toAddress }) => toAddress),
    ]);
    let sum = 0n;
    const found: string[] = [];
    const view = chain.view();
    for (const [address, { unspent }] of view.addresses) {
      const amount = [...unspent.values()].reduce((total, one) => total + nativeOf(one), 0n);
      if (known.has(address)) sum += amount;
      // A transfer may be on the chain before its answer is.
      else if (amount !== 2_000_000n && amount > 0n) found.push(`${address} has ${amount}`);
      else sum += amount;
    }
    for (const { tx } of view.transactions.values()) sum += tx.fee;
    if (sum !== issued) found.push(`${sum} is accounted for, of ${issued}`);
    return found;
  },
  "no payment locked twice": ({ deployment: { chain } }) =>
    [...locksOnChain(chain)].filter(([, n]) => n > 1).map(([name, n]) => `${name}: ${n} locks`),
  "no transfer paid twice": ({ deployment: { chain }, traders }) =>
    traders.transferred.flatMap(({ toAddress, amount }) => {
      const paid = balanceOf(chain, toAddress);
      return paid > amount ? [`${toAddress} has ${paid} of ${amount}`] : [];
    }),
  "one event for each change": ({ endpoints }) =>
    [...endpoints.receivedEvents()].flatMap(([path, events]) => findDoubles(path, events)),
  "each open escrow says what comes next": ({ followers }) =>
    [...followers.payments.values(), ...followers.purchases.values()].flatMap(
      ({ id, onChainState, Next }) =>
        onChainState === null || ENDED.includes(onChainState) || Next?.action || Next?.waitsFor
          ? []
          : [`${id} is ${onChainState} and waits for nothing`],
    ),
  "no 500": ({ answers }) => answers.failures,
};

/** Hold once faults and load have ended, and all work is done. */
const AT_REST: Record<string, Check> = {
  ...ALWAYS,
  "each purchase is locked once, or says why not": async ({ deployment, traders }) => {
    const locks = locksOnChain(deployment.chain);
    const purchases = await readRecords<ShownRecord>(deployment.admin, "purchase");
    const known = new Map(purchases.map((one) => [one.blockchainIdentifier, one]));
    return traders.trades.flatMap(({ blockchainIdentifier, life }) => {
      const record = known.get(blockchainIdentifier);
      if (!record) return [`${short(blockchainIdentifier)} (${life}) has no record`];
      if (locks.has(signatureOf(blockchainIdentifier))) return [];
      const { NextAction, onChainState, expiredAt } = record;
      return onChainState === null && (expiredAt !== null || NextAction.errorType !== null)
        ? []
        : [`${short(blockchainIdentifier)} is ${onChainState}, ${JSON.stringify(NextAction)}`];
    });
  },
  "each agent is registered once": async ({ deployment, traders }) => {
    const registrations = await readRegistrations(deployment);
    return traders.agents.flatMap((asked) => {
      const found = registrations.filter(({ name }) => name === asked);
      const isRegistered = found.length === 1 && found[0]?.state === "RegistrationConfirmed";
      return isRegistered ? [] : [`${asked}: ${JSON.stringify(found)}`];
    });
  },
  "final escrows are in archives": async ({ deployment, traders }) => {
    const isMissing = traders.trades.length > 0 && (await countArchived(deployment)).length === 0;
    return isMissing ? ["no escrow is in an archive"] : [];
  },
  "each escrow has ended": async ({ deployment }) => {
    const sides = ["payment", "purchase"] as const;
    const found: string[] = [];
    for (const side of sides)
      for (const one of await readRecords<ShownRecord>(deployment.admin, side))
        if (one.onChainState !== null && !ENDED.includes(one.onChainState))
          found.push(`${side} ${one.id} is ${one.onChainState}: ${JSON.stringify(one.NextAction)}`);
    return found;
  },
  "nothing lies at a contract": ({ deployment: { chain } }) =>
    contracts().flatMap(({ type, address }) => {
      const amount = balanceOf(chain, address);
      return amount === 0n ? [] : [`${type} has ${amount}`];
    }),
  "paid out is what was paid in": async (observed) => comparePayouts(observed),
  "each transfer is paid once": ({ deployment: { chain }, traders }) =>
    traders.transferred.flatMap(({ toAddress, amount }) => {
      const paid = balanceOf(chain, toAddress);
      return paid === amount ? [] : [`${toAddress} has ${paid} of ${amount}`];
    }),
  "each event arrived": async (observed) => findMissingEvents(observed),
  "followers complete": async ({ deployment: { admin }, followers }) => {
    const found: string[] = [];
    for (const side of ["payments", "purchases"] as const) {
      const list = new Map(
        (await readRecords<ShownRecord>(admin, side === "payments" ? "payment" : "purchase")).map(
          (one) => [one.id, one],
        ),
      );
      found.push(...compareCopies(`caught-up ${side}`, followers[side], list));
      found.push(...compareCopies(`all ${side}`, await followers.readAll(side), list));
    }
    return found;
  },
  "x402 books equal the chain": async ({ deployment: { admin, evm } }) => {
    if (!evm) return [];
    const settled = await readSettlements(admin);
    const sum = settled.reduce((total, { amount }) => total + BigInt(amount), 0n);
    const earned = await dollarsOf(evm, PAYEE);
    const hashes = new Set(settled.map(({ txHash }) => txHash));
    return [
      ...(sum === earned ? [] : [`the books say ${sum}, the chain ${earned}`]),
      ...(hashes.size === settled.length ? [] : ["a transaction settles two payments"]),
    ];
  },
  "nothing is stuck": async ({ deployment: { admin } }) => {
    const { Tasks } = await ask<{ Tasks: object[] }>(admin, "GET", "/task?network=Preprod");
    const { reasons } = await ask<{ reasons: { kind: string }[] }>(admin, "GET", "/health");
    const unexpected = reasons.filter(({ kind }) => !EXPECTED_REASONS.includes(kind));
    return [...Tasks, ...unexpected].map((one) => JSON.stringify(one));
  },
  "records equal a fresh sync": async ({ deployment: { admin, folder, provider } }) => {
    const fresh = await followAnew(folder, provider, []);
    try {
      const recorded = await factsOf(admin);
      let found: string[] = [];
      for (let i = 0; i < FRESH_SYNC_POLLS; i++) {
        found = differences(recorded, await factsOf(fresh));
        if (found.length === 0) break;
        await new Promise((resolve) => setTimeout(resolve, FRESH_SYNC_POLL_MS));
      }
      return found;
    } finally {
      await fresh.close();
    }
  },
};

const FRESH_SYNC_POLLS = 60;
const FRESH_SYNC_POLL_MS = 2_000;

/** Checks everything that holds now. @returns each invariant, with what contradicts it */
export async function checkInvariants(observed: Observed, isAtRest: boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [invariant, check] of Object.entries(isAtRest ? AT_REST : ALWAYS)) {
    const evidence = await check(observed);
    const more = evidence.length - MAX_EVIDENCE;
    const shown = evidence.slice(0, MAX_EVIDENCE);
    findings.push({ invariant, evidence: more > 0 ? [...shown, `and ${more} more`] : shown });
  }
  return findings;
}

/** Whether all that was asked for is done: otherwise what is open. */
export async function findOpenWork({ deployment, traders }: Observed): Promise<string[]> {
  const { admin } = deployment;
  const { Tasks } = await ask<{ Tasks: object[] }>(admin, "GET", "/task?network=Preprod&limit=100");
  const open = Tasks.map((one) => JSON.stringify(one));
  const { transfers } = await ask<{ transfers: { state?: string; status?: string }[] }>(
    admin,
    "GET",
    "/wallet/transfer-funds?network=Preprod&limit=100",
  );
  for (const one of transfers)
    if (["Pending", "Sent"].includes(one.state ?? one.status ?? "")) open.push(JSON.stringify(one));
  const ended = new Set<string>();
  for (const side of ["payment", "purchase"] as const)
    for (const { id, blockchainIdentifier, onChainState } of await readRecords<ShownRecord>(
      admin,
      side,
    ))
      if (onChainState !== null && ENDED.includes(onChainState)) ended.add(blockchainIdentifier);
      else if (onChainState !== null) open.push(`${side} ${id} is ${onChainState}`);
  // A refund that came too late is no dispute.
  for (const { blockchainIdentifier, steps, life } of traders.trades)
    if (steps[0] === "settle" && !ended.has(blockchainIdentifier)) open.push(life);
  for (const one of await readRegistrations(deployment))
    if (/Requested|Initiated/.test(one.state)) open.push(JSON.stringify(one));
  return open;
}

/** How many escrows each archive has. */
export async function countArchived({ read }: Deployment): Promise<number[]> {
  const sql = "SELECT count FROM archive_range WHERE kind = 'escrow' ORDER BY archive";
  return (await read<{ count: number }>(sql)).map(({ count }) => count);
}

/** Registrations with their tasks, which no answer shows. */
function readRegistrations({ read }: Deployment) {
  return read<{ name: string; state: string }>(
    `SELECT name, state, error, tx, task.id AS task, due_at AS dueAt, attempts, reason, task.updated_at AS updatedAt
     FROM registration LEFT JOIN wallet_task AS task ON subject_id = registration.id AND feature = 'registration'`,
  );
}

/** What GET shows of an escrow, as far as the invariants need it. */
interface ShownRecord {
  id: string;
  blockchainIdentifier: string;
  onChainState: string | null;
  expiredAt: string | null;
  collateralReturnMinorUnit: string | null;
  NextAction: { requestedAction: string; errorType: string | null };
  PaidFunds?: Funds[];
  Settled: Record<"seller" | "buyer" | "protocolFee", Funds[]> | null;
}
interface Funds {
  unit: string;
  amount: string;
}

const PAGE = 100;

async function readSettlements(admin: ApiAccess): Promise<{ amount: string; txHash: string }[]> {
  const all: { id: string; success: boolean; amount: string; txHash: string }[] = [];
  for (;;) {
    const cursor = all.length > 0 ? `&cursorId=${all.at(-1)?.id}` : "";
    const path = `/x402/settlements?limit=${PAGE}${cursor}`;
    const { Settlements } = await ask<{ Settlements: typeof all }>(admin, "GET", path);
    all.push(...Settlements);
    if (Settlements.length < PAGE) return all.filter(({ success }) => success);
  }
}

/** Sellers, buyers and the fee receiver have together what was locked. */
async function comparePayouts({ deployment, feesBefore }: Observed): Promise<string[]> {
  const { admin, chain } = deployment;
  let [paidIn, paidOut, shownFees] = [0n, 0n, 0n];
  for (const one of await readRecords<ShownRecord>(admin, "purchase")) {
    if (!ENDED.includes(one.onChainState ?? "")) continue;
    paidIn += sumOf(one.PaidFunds ?? []) + BigInt(one.collateralReturnMinorUnit ?? 0);
    paidOut += sumOf(one.Settled?.seller ?? []) + sumOf(one.Settled?.buyer ?? []);
    shownFees += sumOf(one.Settled?.protocolFee ?? []);
  }
  const fees = balanceOf(chain, ADMIN.address) - feesBefore;
  if (paidIn === paidOut + fees && fees === shownFees) return [];
  return [
    `${paidIn} was paid in, ${paidOut} was paid out, and the fee receiver has ${fees} of ${shownFees}`,
  ];
}

/** A record's sequence has each number once; an event arrives again only under its id. */
function findDoubles(path: string, events: readonly ReceivedEvent[]): string[] {
  const seen = new Map<string, ReceivedEvent>();
  const found: string[] = [];
  for (const event of events) {
    // Events of the service itself are of no record.
    if (event.recordId === undefined) continue;
    const name = `${event.recordId} #${event.sequence}`;
    const other = seen.get(name);
    if (other) found.push(`${path}: ${name} is ${other.id} and ${event.id} (${event.type})`);
    seen.set(name, event);
  }
  return found;
}

/** Each good receiver has every number of each record, and the newest event says what the record says. */
async function findMissingEvents({
  deployment: { admin },
  endpoints,
}: Observed): Promise<string[]> {
  const found: string[] = [];
  const records = [
    ...(await readRecords<ShownRecord>(admin, "payment")),
    ...(await readRecords<ShownRecord>(admin, "purchase")),
  ];
  for (const [path, events] of endpoints.receivedEvents()) {
    const ofRecord = Map.groupBy(events, ({ recordId }) => recordId);
    for (const [id, events] of ofRecord) {
      const numbers = new Set(events.map(({ sequence }) => sequence));
      const last = Math.max(...numbers);
      for (let n = 1; n < last; n++)
        if (!numbers.has(n)) found.push(`${path}: #${n} of ${last} of ${id} is missing`);
    }
    for (const { id, onChainState } of records) {
      const newest = ofRecord
        .get(id)
        ?.filter(({ type }) => type.endsWith("ON_CHAIN_STATUS_CHANGED"))
        .sort((a, b) => a.sequence - b.sequence)
        .at(-1);
      const state = newest?.data.onChainState ?? null;
      if (state !== onChainState)
        found.push(`${path}: ${id} is ${onChainState}, its newest event says ${state}`);
    }
  }
  return found;
}

function compareCopies(name: string, copy: Copy, list: Map<string, ShownRecord>): string[] {
  const found: string[] = [];
  for (const [id, record] of list) {
    const one = copy.get(id);
    if (!one) found.push(`${name}: ${id} is missing`);
    else
      for (const field of differingFields(one, record))
        found.push(`${name}: ${id} has another ${field}`);
  }
  for (const id of copy.keys()) if (!list.has(id)) found.push(`${name}: ${id} is not listed`);
  return found;
}

/** These change without a change of the record. */
const VOLATILE = ["lastCheckedAt", "updatedAt", "confirmations"];

/** The differing fields of two records, with their values. */
function differingFields(one: object, other: object): string[] {
  const text = (value: unknown) =>
    JSON.stringify(value, (key, inner) => (VOLATILE.includes(key) ? undefined : inner));
  return Object.entries(other).flatMap(([field, expected]) => {
    const found = (one as Record<string, unknown>)[field];
    if (VOLATILE.includes(field) || text(found) === text(expected)) return [];
    return [`${field}: ${text(found)}, listed ${text(expected)}`];
  });
}

export function balanceOf(chain: Deployment["chain"], address: string): bigint {
  const unspent = chain.view().addresses.get(address)?.unspent.values() ?? [];
  return [...unspent].reduce((sum, one) => sum + nativeOf(one), 0n);
}

function nativeOf({ output }: { output: { amount: { unit: string; quantity: bigint }[] } }) {
  return output.amount.find(({ unit }) => unit === "lovelace")?.quantity ?? 0n;
}

const sumOf = (funds: readonly Funds[]) =>
  funds.reduce((sum, { unit, amount }) => (unit === "" ? sum + BigInt(amount) : sum), 0n);
const short = (identifier: string) => `${identifier.slice(0, 40)}…`;
