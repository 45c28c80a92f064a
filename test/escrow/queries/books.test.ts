import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { OnChainState } from "../../../src/chain/network.ts";
import { openDb } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import type { Side, StoredFunds } from "../../../src/escrow/model/escrow-record.ts";
import { readSums, type SumsQuery } from "../../../src/escrow/queries/books/sums.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { call, emptyTables } from "../../support/app.ts";
import { countingD1 } from "../../support/d1.ts";
import { runs } from "../../support/effort.ts";
import { insertKey } from "../../support/keys.ts";
import { makeRecord, stepTo } from "../../support/sources/records.ts";

const TOKEN = "ab".repeat(30);
const AGENTS = ["aa".repeat(40), "bb".repeat(40)];
const native = (amount: bigint | number): StoredFunds[] => [{ unit: "", amount: String(amount) }];

/** An escrow as it stands, by its newest transaction. */
interface Booked {
  onChainState: OnChainState;
  /** Unix seconds. */
  at: number;
  side?: Side;
  funds?: StoredFunds[];
  fees?: bigint;
  protocolFee?: StoredFunds[];
  seller?: StoredFunds[];
  buyer?: StoredFunds[];
  agent?: string;
  wallet?: string;
  source?: string;
  /** Of its identifier, hex; omitted: a new one. */
  hash?: string;
}

async function write(escrows: readonly Booked[]): Promise<void> {
  const now = Date.now();
  const changes = new ChangeSet([], now, 100);
  for (const [i, one] of escrows.entries()) {
    const { seller = [], buyer = [], protocolFee = [] } = one;
    // Each is newer than the one before.
    const record = makeRecord(one.side ?? "payment", { id: newId(now + i) });
    record.terms = {
      ...record.terms,
      funds: one.funds ?? native(5_000_000),
      agentIdentifier: one.agent ?? AGENTS[0] ?? "",
    };
    if (one.source) record.sourceId = one.source;
    if (one.hash) record.identifierHash = one.hash;
    if (one.wallet) record.wallet = { id: one.wallet, vkey: "22".repeat(28), address: "addr" };
    const isDispute = one.onChainState === "DisputedWithdrawn";
    changes.advance(
      record,
      stepTo(record, {
        onChainState: one.onChainState,
        sellerFees: String(one.fees ?? 0n),
        buyerFees: String(one.fees ?? 0n),
        withdrawnForSeller: isDispute ? seller : [],
        withdrawnForBuyer: isDispute ? buyer : [],
        settled: { seller, buyer, protocolFee },
      }),
      { txHash: newId(0).padEnd(64, "0"), blockHeight: 90, txIndex: 0, blockTime: one.at },
      "170000",
    );
  }
  await openDb(env).batch(writeChanges(changes, { sourceId: "source-a", network: "Preprod" }));
}

interface Unit {
  unit: string;
  amount: number;
  gross: string;
  protocolFee: string;
  networkFee: string;
  net: string;
}
interface Bucket {
  day?: number;
  month: number;
  year: number;
  Units: Unit[];
  blockchainFees: number;
}
type Total = Pick<Bucket, "Units" | "blockchainFees">;
type Kind = "Income" | "Spend" | "Refunded" | "Pending";
type Books = Record<`Total${Kind}`, Total> &
  Record<`Daily${Kind}` | `Monthly${Kind}`, Bucket[]> & {
    totalTransactions: number;
    periodStart: string;
    periodEnd: string;
  };

async function ask(path: string, body: object = {}, token?: string): Promise<Books> {
  const response = await call(`/api/v1${path}`, {
    method: "POST",
    body: JSON.stringify({ network: "Preprod", agentIdentifier: null, ...body }),
    ...(token && { headers: { token } }),
  });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return JSON.parse(text).data;
}

const seconds = (iso: string) => Date.parse(iso) / 1000;
const IN_MAY = seconds("2026-05-10T12:00:00Z");

beforeEach(emptyTables);

describe("POST /payment/income and POST /purchase/spending", () => {
  it("say what was earned, refunded and is locked, by unit, before and after fees", async () => {
    const price = [...native(10_000_000), { unit: TOKEN, amount: "700" }];
    const protocolFee = [...native(1_435_230), { unit: TOKEN, amount: "35" }];
    const disputed = { seller: native(3_000_000), buyer: native(7_000_000) };
    const lives = (side: Side): Booked[] => [
      { side, onChainState: "Withdrawn", at: IN_MAY, funds: price, protocolFee, fees: 500_000n },
      { side, onChainState: "RefundWithdrawn", at: IN_MAY, fees: 200_000n },
      { side, onChainState: "DisputedWithdrawn", at: IN_MAY, ...disputed, fees: 300_000n },
      { side, onChainState: "Disputed", at: IN_MAY, fees: 100_000n },
      { side, onChainState: "FundsOrDatumInvalid", at: IN_MAY },
    ];
    await write([...lives("payment"), ...lives("purchase")]);

    const income = await ask("/payment/income");
    expect(income.totalTransactions).toBe(4);
    expect(income.TotalIncome).toEqual({
      Units: [
        {
          ...{ unit: "", amount: 13_000_000, amountText: "13000000", gross: "13000000" },
          ...{ protocolFee: "1435230", networkFee: "800000", net: "10764770" },
        },
        {
          ...{ unit: TOKEN, amount: 700, amountText: "700", gross: "700" },
          ...{ protocolFee: "35", networkFee: "0", net: "665" },
        },
      ],
      blockchainFees: 800_000,
      blockchainFeesText: "800000",
    });
    expect(income.TotalRefunded.Units).toMatchObject([{ gross: "12000000", net: "-200000" }]);
    expect(income.TotalPending.Units).toMatchObject([{ gross: "5000000", networkFee: "100000" }]);
    expect(income.DailyIncome).toMatchObject([{ day: 10, month: 5, year: 2026 }]);
    expect(income.MonthlyPending).toMatchObject([{ month: 5, year: 2026 }]);

    const spending = await ask("/purchase/spending");
    expect(spending.TotalSpend.Units).toMatchObject([
      { gross: "13000000", protocolFee: "0", networkFee: "800000", net: "13800000" },
      { gross: "700", net: "700" },
    ]);
    expect(spending.TotalRefunded.Units).toMatchObject([{ gross: "12000000", net: "11800000" }]);
  });

  it("put what a day of the caller's time zone has into it, also where clocks change", async () => {
    // Berlin goes from +1 to +2 at 01:00 UTC on 29 March and back at 01:00 UTC on 25 October 2026.
    const at = (iso: string): Booked => ({ onChainState: "Withdrawn", at: seconds(iso) });
    await write([
      at("2026-03-28T22:59:59Z"),
      at("2026-03-28T23:00:00Z"),
      at("2026-03-29T21:59:59Z"),
      at("2026-03-29T22:00:00Z"),
      at("2026-10-24T21:59:59Z"),
      at("2026-10-24T22:00:00Z"),
      at("2026-10-25T22:59:59Z"),
      at("2026-10-31T23:00:00Z"),
    ]);
    const days = async (timeZone: string) =>
      (await ask("/payment/income", { timeZone })).DailyIncome.map(
        ({ day, month, Units }) =>
          [`${month}-${day}`, Number(Units[0]?.gross) / 5_000_000] as const,
      );
    expect(await days("Europe/Berlin")).toEqual([
      ["3-28", 1],
      ["3-29", 2],
      ["3-30", 1],
      ["10-24", 1],
      ["10-25", 2],
      ["11-1", 1],
    ]);
    expect(await days("Etc/UTC")).toEqual([
      ["3-28", 2],
      ["3-29", 2],
      ["10-24", 2],
      ["10-25", 1],
      ["10-31", 1],
    ]);
    // Three quarters of an hour off.
    expect((await days("Asia/Kathmandu"))[0]).toEqual(["3-29", 2]);
  });

  it("take periods that add up, an agent, a type, and the wallets of a key", async () => {
    const noon = seconds("2026-05-10T12:00:00Z");
    await write([
      { onChainState: "Withdrawn", at: noon - 1, wallet: "wallet-1" },
      { onChainState: "Withdrawn", at: noon, agent: AGENTS[1] ?? "" },
      { onChainState: "FundsLocked", at: noon + 1 },
    ]);
    const [before, after] = await Promise.all([
      ask("/payment/income", { endDate: "2026-05-10T14:00:00+02:00" }),
      ask("/payment/income", { startDate: "2026-05-10T12:00:00.000Z", endDate: null }),
    ]);
    expect([before.totalTransactions, after.totalTransactions]).toEqual([1, 2]);
    expect(before.periodEnd).toBe("2026-05-10T12:00:00.000Z");
    const [early, coming] = await Promise.all([
      ask("/payment/income", { endDate: "1969-01-01" }),
      ask("/payment/income", { startDate: "9000-01-01" }),
    ]);
    expect(early).toMatchObject({ totalTransactions: 0, periodStart: early.periodEnd });
    expect(coming).toMatchObject({ totalTransactions: 0, periodEnd: coming.periodStart });
    const ofAgent = await ask("/payment/income", { agentIdentifier: AGENTS[1]?.toUpperCase() });
    expect(ofAgent.totalTransactions).toBe(1);
    const v2 = await ask("/payment/income", { filterPaymentSourceType: "Web3ChainV2" });
    expect(v2).toMatchObject({ totalTransactions: 0, TotalIncome: { Units: [] }, DailyIncome: [] });
    const token = await insertKey({ walletLimit: ["wallet-1"] });
    expect((await ask("/payment/income", {}, token)).totalTransactions).toBe(1);
  });

  it("count an escrow once whose source was removed and made again, as whichever record knows how it ended", async () => {
    await env.DB.prepare(
      `INSERT INTO payment_source (id, network, type, contract_address, policy_id, admin_wallets,
         fee_rate_permille, cooldown_time, rpc_provider, rpc_provider_api_key, created_by_id,
         created_at, updated_at, deleted_at)
       VALUES ('former', 'Preprod', 'Web3ChainV1', 'addr', 'aa', '[]', 0, 0, 'Blockfrost', '', '', 1, 1, 2)`,
    ).run();
    const former = { source: "former", at: IN_MAY };
    await write([
      { ...former, hash: "01", onChainState: "Withdrawn" },
      { hash: "01", at: IN_MAY, onChainState: "Withdrawn", wallet: "wallet-new" },
      { ...former, hash: "02", onChainState: "ResultSubmitted" },
      { hash: "02", at: IN_MAY, onChainState: "RefundWithdrawn" },
      // Nobody has made its source again: it counts as it was left.
      { ...former, hash: "03", onChainState: "FundsLocked" },
      { ...former, hash: "04", onChainState: "Withdrawn", wallet: "wallet-old" },
    ]);
    const books = await ask("/payment/income");
    expect(books.totalTransactions).toBe(4);
    expect(books.TotalIncome.Units).toMatchObject([{ gross: "10000000" }]);
    expect(books.TotalRefunded.Units).toMatchObject([{ gross: "5000000" }]);
    expect(books.TotalPending.Units).toMatchObject([{ gross: "5000000" }]);
    expect((await ask("/payment/income", { agentIdentifier: AGENTS[0] })).totalTransactions).toBe(
      4,
    );
    // A key that may not see the newer record still has the former one's.
    const token = await insertKey({ walletLimit: ["wallet-a"] });
    expect((await ask("/payment/income", {}, token)).totalTransactions).toBe(3);
  });

  it("refuse what is no time zone, and a period that ends before it begins", async () => {
    for (const [body, field] of [
      [{ timeZone: "Mars/Olympus" }, "timeZone"],
      // No place has such an offset, so no quarter of an hour is in one of its days alone.
      [{ timeZone: "+00:07" }, "timeZone"],
      [{ timeZone: "-01:00" }, "timeZone"],
      [{ startDate: "2026-02-01", endDate: "2026-01-01" }, "startDate"],
    ] as const) {
      const response = await call("/api/v1/payment/income", {
        method: "POST",
        body: JSON.stringify({ network: "Preprod", agentIdentifier: null, ...body }),
      });
      expect(response.status).toBe(400);
      expect(((await response.json()) as { error: { field: string } }).error.field).toBe(field);
    }
  });

  it("read the escrows of a period, and no others", async () => {
    const many = (count: number, at: number, agent?: string): Booked[] =>
      Array.from({ length: count }, () => ({
        onChainState: "Withdrawn",
        at,
        ...(agent && { agent }),
      }));
    await write(many(300, IN_MAY));
    await write([...many(5, IN_MAY + 86_400), ...many(5, IN_MAY, AGENTS[1])]);
    const { d1, rowsRead } = countingD1(env.DB);
    const query: SumsQuery = {
      ...{
        network: "Preprod" as const,
        agentIdentifier: null,
        sourceType: undefined,
        walletIds: null,
        env,
      },
      ...{ startAt: (IN_MAY + 1) * 1000, endAt: null },
    };
    const { escrows } = await readSums(openDb({ DB: d1 }), "payment", query);
    expect(escrows).toBe(5);
    const ofPeriod = rowsRead();
    expect(ofPeriod).toBeLessThan(100);
    const agent = { ...query, startAt: 0, agentIdentifier: AGENTS[1] ?? "" };
    expect((await readSums(openDb({ DB: d1 }), "payment", agent)).escrows).toBe(5);
    expect(rowsRead() - ofPeriod).toBeLessThan(100);
  });

  it("lose nothing: days and months add up to the totals, and those to the escrows", async () => {
    const amount = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n });
    const fundsOf = fc
      .uniqueArray(fc.constantFrom("", TOKEN, "cd".repeat(28)), { minLength: 1 })
      .chain((units) =>
        fc
          .array(amount, { minLength: units.length, maxLength: units.length })
          .map((amounts): StoredFunds[] =>
            amounts.map((one, i) => ({ unit: units[i] ?? "", amount: String(one) })),
          ),
      );
    const maybeFunds = fc.oneof(fc.constant<StoredFunds[]>([]), fundsOf);
    const escrow = fc.record({
      onChainState: fc.constantFrom<OnChainState>(
        ...(["Withdrawn", "RefundWithdrawn", "DisputedWithdrawn", "FundsLocked"] as const),
      ),
      at: fc.integer({ min: seconds("2026-01-01"), max: seconds("2026-12-31") }),
      funds: fundsOf,
      fees: fc.bigInt({ min: 0n, max: 5_000_000n }),
      protocolFee: maybeFunds,
      seller: maybeFunds,
      buyer: fundsOf,
    });
    const zone = fc.constantFrom(
      "Etc/UTC",
      "America/St_Johns",
      "Australia/Lord_Howe",
      "Asia/Kolkata",
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(escrow, { minLength: 1, maxLength: 30 }),
        zone,
        async (escrows, timeZone) => {
          await env.DB.batch(
            ["escrow", "escrow_identity"].map((one) => env.DB.prepare(`DELETE FROM ${one}`)),
          );
          await write(escrows);
          const books = await ask("/payment/income", { timeZone });
          expect(books.totalTransactions).toBe(escrows.length);
          for (const kind of ["Income", "Refunded", "Pending"] as const) {
            const total = units([books[`Total${kind}`]]);
            expect(units(books[`Daily${kind}`])).toEqual(total);
            expect(units(books[`Monthly${kind}`])).toEqual(total);
          }
          const gross = (kind: Kind) => units([books[`Total${kind}`]])[0];
          const of = (...states: OnChainState[]) =>
            escrows.filter(({ onChainState }) => states.includes(onChainState));
          const disputed = of("DisputedWithdrawn");
          expect(gross("Income")).toEqual(
            sum([
              ...of("Withdrawn").flatMap(({ funds }) => funds),
              ...disputed.flatMap(({ seller }) => seller),
            ]),
          );
          expect(gross("Refunded")).toEqual(
            sum([
              ...of("RefundWithdrawn").flatMap(({ funds }) => funds),
              ...disputed.flatMap(({ buyer }) => buyer),
            ]),
          );
          const fees = escrows.reduce((all, one) => all + one.fees, 0n);
          const booked = (["Income", "Refunded", "Pending"] as const).map((kind) =>
            BigInt(books[`Total${kind}`].blockchainFees),
          );
          expect(booked.reduce((all, one) => all + one, 0n)).toBe(fees);
        },
      ),
      runs(8, 100),
    );
  });
});

const NAMES = ["gross", "protocolFee", "networkFee", "net"] as const;

/** The sums of each amount by unit. */
function units(parts: readonly Total[]) {
  return NAMES.map((name) =>
    sum(parts.flatMap((part) => part.Units.map((one) => ({ unit: one.unit, amount: one[name] })))),
  );
}

function sum(funds: readonly StoredFunds[]): Record<string, string> {
  const totals: Record<string, bigint> = {};
  for (const { unit, amount } of funds) totals[unit] = (totals[unit] ?? 0n) + BigInt(amount);
  return Object.fromEntries(
    Object.entries(totals)
      .filter(([, total]) => total !== 0n)
      .map(([unit, total]) => [unit, String(total)]),
  );
}
