/** Bytes that the service stores for each record, and how long a database of the platform lasts. */
import { startReceiver } from "../devnet/demo/receiver.ts";
import type { PaymentSourceType } from "../src/chain/network.ts";
import { type SellerAndBuyer, withSellerAndBuyer } from "./support/seller-and-buyer.ts";
import { type BenchContext, call } from "./support/service.ts";
import type { StoredBytes } from "./support/stored-bytes.ts";
import { startStoredService } from "./support/stored-service.ts";
import type { Row } from "./support/table.ts";
import { RESOURCE_URL, startPaymentChain } from "./x402/chain.ts";
import { ourFacilitators } from "./x402/facilitators.ts";
import { startCountingProxy } from "./x402/proxy.ts";

/** What a database of D1 may hold. */
const DATABASE_BYTES = 10e9;
/** Of an operator with a webhook. */
const SALES_A_DAY = 1_000;
const GOAL_YEARS = 3.7;
/** Of a final payment or purchase with its histories and indexes. */
const GOAL_BYTES = 7_000;
/** Beyond it the bench fails: a tenth more than was measured. */
const LIMIT_BYTES = 6_000;
/** How long the service keeps rows of these tables, days. It keeps the rows of all others. */
const KEPT_DAYS: Record<string, number> = {
  ...{ event: 7, webhook_delivery: 7, idempotency: 1 },
  // The 2,160 newest blocks, of 20 seconds.
  checkpoint: 0.5,
};
/** Per record: columns that take less are not listed. */
const MIN_LISTED_BYTES = 40;

export interface StorageFigures {
  rows: Row[];
  parts: Row[];
  objects: Row[];
  capacity: Row[];
  excesses: string[];
}

/** What was stored before and after so many records of a kind. */
interface Growth {
  /** Such as `payment, Web3ChainV2`. */
  kind: string;
  count: number;
  before: StoredBytes;
  /** While all funds are locked. */
  open: StoredBytes | null;
  after: StoredBytes;
}

/**
 * Reads the databases of a seller's and a buyer's service before, between and after sales. The third
 * service settles x402 payments. The services wrote all rows.
 */
export async function benchStorage(context: BenchContext): Promise<StorageFigures> {
  const growths: Growth[] = [];
  for (const type of ["Web3ChainV1", "Web3ChainV2"] as const)
    growths.push(
      ...(await withSellerAndBuyer(context, type, (services) => sell(context, type, services))),
    );
  growths.push(await settle(context));
  const rows = growths.map(rowOf);
  const excesses = rows.flatMap(({ record, final }) =>
    Number(final) > LIMIT_BYTES
      ? [`storage: ${record}: ${final} bytes, at most ${LIMIT_BYTES}`]
      : [],
  );
  return {
    rows,
    parts: partRows(growths),
    objects: growths.flatMap(objectRows),
    capacity: growths.map(capacityOf),
    excesses,
  };
}

/** Half a page is free in each table and index, before as after: hence the first sales. */
async function sell(
  { quick }: BenchContext,
  type: PaymentSourceType,
  services: SellerAndBuyer,
): Promise<Growth[]> {
  const [first, count] = quick ? [1, 3] : [5, 40];
  await services.end(await services.lock(first));
  const before = await services.read();
  const sales = await services.lock(count);
  const open = await services.read();
  await services.end(sales);
  const after = await services.read();
  return (["payment", "purchase"] as const).map((side) => ({
    ...{ kind: `${side}, ${type}`, count },
    ...{ before: before[side], open: open[side], after: after[side] },
  }));
}

async function settle(context: BenchContext): Promise<Growth> {
  const [first, count] = context.quick ? [2, 5] : [10, 50];
  const chain = await startPaymentChain();
  const proxy = await startCountingProxy(chain.node.url);
  const receiver = await startReceiver();
  const stored = await startStoredService(context, {
    LOOPBACK_ORIGINS: [proxy.url, receiver.url].join(),
  });
  try {
    await stored.subscribe(receiver, "X402_PAYMENT_SETTLED");
    await ourFacilitators(stored.service, proxy, chain);
    const terms = chain.newTerms();
    const post = <Data>(path: string, body: object) =>
      call<Data>(stored.service, `/api/v1/x402/${path}`, { method: "POST", body });
    const { asset, amount, payTo, maxTimeoutSeconds, network: caip2Network } = terms;
    const { id: supportedPaymentSourceId } = await post<{ id: string }>("payment-sources", {
      ...{ caip2Network, url: RESOURCE_URL, asset, amount, payTo, maxTimeoutSeconds },
    });
    const settleSome = async (some: number) => {
      for (const paymentPayload of await chain.sign(terms, some))
        await post("settle", { supportedPaymentSourceId, paymentPayload });
    };
    await settleSome(first);
    const before = await stored.read();
    await settleSome(count);
    const after = await stored.read();
    return { kind: "x402 settlement", count, before, open: null, after };
  } finally {
    await stored.service.host.close();
    await receiver.close();
    await proxy.close();
    await chain.node.close();
  }
}

/** Bytes that each record adds to the tables of a choice, with their indexes. */
function addedTo(
  { count, before }: Growth,
  after: StoredBytes,
  isChosen: (table: string) => boolean,
): number {
  let bytes = 0;
  for (const [name, part] of after.parts)
    if (isChosen(part.table)) bytes += part.bytes - (before.parts.get(name)?.bytes ?? 0);
  return bytes / count;
}

const isOfRecord = (table: string) => /^(escrow|x402)_?/.test(table);
const isTemporary = (table: string) => table in KEPT_DAYS;

function rowOf(growth: Growth): Row {
  const { kind, count, open, after } = growth;
  return {
    record: kind,
    records: count,
    open: open === null ? "" : Math.round(addedTo(growth, open, isOfRecord)).toString(),
    final: Math.round(addedTo(growth, after, isOfRecord)),
    goal: open === null ? "" : String(GOAL_BYTES),
    transactions: Math.round(addedTo(growth, after, (table) => table === "wallet_transaction")),
    others: Math.round(
      addedTo(
        growth,
        after,
        (table) => !(isOfRecord(table) || isTemporary(table) || table === "wallet_transaction"),
      ),
    ),
    "events and deliveries": Math.round(addedTo(growth, after, isTemporary)),
  };
}

/** Each table, index and column by what it takes, the largest of all kinds first. */
function partRows(growths: readonly Growth[]): Row[] {
  const names = new Set(
    growths.flatMap(({ after }) => [...after.parts.keys(), ...after.columns.keys()]),
  );
  const rows = [...names].map((name) => {
    const table = growths[0]?.after.parts.get(name)?.table ?? "";
    const bytes = growths.map(({ count, before, after }) => {
      const of = ({ parts, columns }: StoredBytes) =>
        parts.get(name)?.bytes ?? columns.get(name) ?? 0;
      return Math.round((of(after) - of(before)) / count);
    });
    return { name, table, bytes };
  });
  return rows
    .filter(({ table, bytes }) => Math.max(...bytes) >= (table === "" ? MIN_LISTED_BYTES : 1))
    .toSorted((a, b) => Math.max(...b.bytes) - Math.max(...a.bytes))
    .map(({ name, table, bytes }) => ({
      part: name,
      kind: table === "" ? "column" : table === name ? "table" : `index of ${table}`,
      ...Object.fromEntries(growths.map(({ kind }, i) => [kind, bytes[i] ?? 0])),
    }));
}

function objectRows({ kind, after }: Growth): Row[] {
  return [...after.objects].map(([name, sizes]) => ({
    "service of": kind,
    object: name,
    objects: sizes.length,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    "bytes each": Math.round(sizes.reduce((sum, size) => sum + size, 0) / sizes.length),
  }));
}

/** How many of a kind a database holds, and how long it takes the sales of a day. */
function capacityOf(growth: Growth): Row {
  const { kind, after } = growth;
  const record = addedTo(growth, after, isOfRecord);
  const permanent = addedTo(growth, after, (table) => !isTemporary(table));
  const temporary = Object.entries(KEPT_DAYS).map(
    ([name, days]) => days * SALES_A_DAY * addedTo(growth, after, (table) => table === name),
  );
  const full = temporary.reduce((sum, bytes) => sum + bytes, 0);
  const days = (DATABASE_BYTES - full) / (SALES_A_DAY * permanent);
  return {
    record: kind,
    "10 GB hold": Math.round(DATABASE_BYTES / record),
    "with all that stays": Math.round(DATABASE_BYTES / permanent),
    "years at 1,000 a day": (days / 365).toFixed(1),
    goal: String(GOAL_YEARS),
  };
}
