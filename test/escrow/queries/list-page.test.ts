import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { ON_CHAIN_STATES } from "../../../src/chain/network.ts";
import { openDb } from "../../../src/db/client.ts";
import { type EscrowRecord, hashIdentifier } from "../../../src/escrow/model/escrow-record.ts";
import { countByDay, countRecords } from "../../../src/escrow/queries/count-records.ts";
import { readListPage } from "../../../src/escrow/queries/list-page.ts";
import { call, emptyTables } from "../../support/app.ts";
import { countingD1 } from "../../support/d1.ts";
import { insertKey } from "../../support/keys.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";

const SOURCES = [
  { sourceType: "Web3ChainV1", contractAddress: "addr_test1a" },
  { sourceType: "Web3ChainV2", contractAddress: "addr_test1b" },
  { sourceType: "Web3ChainV2", contractAddress: "addr_test1c" },
] as const;

beforeEach(emptyTables);

const DAY_MS = 24 * 60 * 60_000;
const RARE_AGENT = "cd".repeat(40);
const EARLIER_HASH = "ea".repeat(32);
const ERROR = { isManual: false, type: "Unknown", note: "something", txHash: null };

/**
 * Writes payments. Every fiftieth has a rare contract, every seventieth a rare state, every
 * fortieth a rare agent, and every thirtieth an error.
 */
async function write(count: number): Promise<EscrowRecord[]> {
  const writer = await Writer.create(env.DB);
  const records = Array.from({ length: count }, (_, i) =>
    makeRecord("payment", SOURCES[i % 50 === 0 ? 2 : i % 2] ?? {}),
  );
  for (const [i, record] of records.entries()) {
    record.identifierHash = hashIdentifier(record.blockchainIdentifier);
    record.terms = {
      ...record.terms,
      ...(i % 40 === 0 && { agentIdentifier: RARE_AGENT, agentName: `Translator ${i}` }),
      inputHash: `${i}`.padStart(64, "e"),
      funds: [{ unit: "", amount: String(i * 10_000) }],
    };
    if (i % 30 === 0) record.progress = { ...record.progress, error: ERROR };
  }
  for (let i = 0; i < count; i += 200) await writer.change(records.slice(i, i + 200));
  for (const [i, record] of records.entries())
    record.state.onChainState = i % 70 === 0 ? "Disputed" : "ResultSubmitted";
  const disputed = records.filter(({ state }) => state.onChainState === "Disputed");
  await env.DB.prepare(
    `UPDATE escrow SET on_chain_state = 'Disputed'
     WHERE id IN (SELECT value FROM json_each(?))`,
  )
    .bind(JSON.stringify(disputed.map(({ id }) => id)))
    .run();
  await env.DB.prepare(
    `UPDATE escrow_open SET doc = replace(doc, '"onChainState":"ResultSubmitted"', '"onChainState":"Disputed"')
     WHERE id IN (SELECT value FROM json_each(?))`,
  )
    .bind(JSON.stringify(disputed.map(({ id }) => id)))
    .run();
  return records;
}

describe("GET /payment", () => {
  it("returns every record that matches its filters exactly once, newest first, page after page", async () => {
    const records = await write(150);
    await env.DB.prepare(
      `INSERT INTO escrow_transaction (record_id, tx_hash, id, status, created_at, updated_at)
       VALUES (?, ?, 'earlier', 'Confirmed', 0, 0)`,
    )
      .bind(records[34]?.id, EARLIER_HASH)
      .run();
    const isAmong = (from: number, to: number) => (one: EscrowRecord) =>
      records.indexOf(one) >= from && records.indexOf(one) < to;
    const hasError = ({ progress: wanted }: EscrowRecord) => wanted.error !== null;
    const isOfAgent = ({ terms }: EscrowRecord) => terms.agentIdentifier === RARE_AGENT;
    const newest = records.toSorted((a, b) => (a.id < b.id ? 1 : -1));
    const filters: [string, (record: EscrowRecord) => boolean][] = [
      ["", () => true],
      ["filterPaymentSourceType=Web3ChainV1", (one) => one.sourceType === "Web3ChainV1"],
      ["filterSmartContractAddress=addr_test1c", (one) => one.contractAddress === "addr_test1c"],
      ["filterOnChainState=Disputed", (one) => one.state.onChainState === "Disputed"],
      [
        "filterOnChainState=ResultSubmitted&filterSmartContractAddress=addr_test1b",
        (one) =>
          one.state.onChainState === "ResultSubmitted" && one.contractAddress === "addr_test1b",
      ],
      [`id=${newest[3]?.id}`, (one) => one === newest[3]],
      [`blockchainIdentifier=${newest[4]?.blockchainIdentifier}`, (one) => one === newest[4]],
      ["filterSmartContractAddress=addr_test1a&filterPaymentSourceType=Web3ChainV2", () => false],
      [`filterAgentIdentifier=${RARE_AGENT.toUpperCase()}`, isOfAgent],
      ["filterNeedsManualAction=true", hasError],
      ["filterNeedsManualAction=false", () => true],
      [
        `filterNeedsManualAction=true&filterAgentIdentifier=${RARE_AGENT}`,
        (one) => hasError(one) && isOfAgent(one),
      ],
      ["searchQuery=translator", isOfAgent],
      [
        `searchQuery=TRANSLATOR&filterNeedsManualAction=true`,
        (one) => hasError(one) && isOfAgent(one),
      ],
      [`searchQuery=${records[31]?.terms.inputHash}`, (one) => one === records[31]],
      [`searchQuery=${records[32]?.id.slice(0, 26)}`, (one) => one === records[32]],
      [
        `searchQuery=${records[33]?.state.transaction?.txHash.slice(0, 26)}`,
        (one) => one === records[33],
      ],
      [`searchQuery=${EARLIER_HASH.toUpperCase()}`, (one) => one === records[34]],
      ["searchQuery=result%20submitted", (one) => one.state.onChainState === "ResultSubmitted"],
      ["searchQuery=disputed", (one) => one.state.onChainState === "Disputed"],
      ["searchQuery=1.4", isAmong(140, 150)],
      ["searchQuery=0.25", isAmong(25, 26)],
      ["searchQuery=1.", isAmong(100, 150)],
      ["searchQuery=nothing%25", () => false],
      ["filterErrorType=Unknown", hasError],
      ["filterErrorType=InsufficientFunds", () => false],
      ["filterRequestedAction=SubmitResultRequested", () => false],
      ["filterRequestedAction=WaitingForExternalAction&filterErrorType=Unknown", hasError],
      [`filterWalletVkey=${"0".repeat(56)}`, () => false],
      ["filterUnit=", () => true],
      [`filterUnit=${"ab".repeat(28)}`, () => false],
      ["filterAmountFrom=500000&filterAmountTo=520000", isAmong(50, 53)],
      ["filterUnit=lovelace&filterAmountTo=19999", isAmong(0, 2)],
      [`filterUnit=${"ab".repeat(28)}&filterAmountFrom=0`, () => false],
      ["filterAmountFrom=1480001&filterOnChainState=ResultSubmitted", isAmong(149, 150)],
      // The times that `makeRecord` gives: unlock 2027-01-15T15:00Z, dispute 2027-01-15T21:00Z.
      [
        "filterDeadlineFrom=2027-01-15T15:00:00Z&filterDeadlineTo=2027-01-15T15:00:01Z",
        (one) => one.state.onChainState === "ResultSubmitted",
      ],
      ["filterDeadlineFrom=2027-01-15T20:59:59Z", (one) => one.state.onChainState === "Disputed"],
      ["filterDeadlineTo=2027-01-15T15:00:00Z", () => false],
      ["createdFrom=2100-01-01", () => false],
      ["createdFrom=1970-01-02&createdTo=2100-01-01", () => true],
    ];
    for (const [filter, wanted] of filters) {
      const seen: string[] = [];
      for (let more = true; more; ) {
        const after = seen.length > 0 ? `&cursorId=${seen.at(-1)}` : "";
        const answer = await call(`/api/v1/payment?network=Preprod&limit=20&${filter}${after}`);
        const { data } = (await answer.json()) as { data: { Payments: { id: string }[] } };
        seen.push(...data.Payments.map(({ id }) => id));
        more = data.Payments.length > 0;
      }
      expect(seen, filter).toEqual(newest.filter(wanted).map(({ id }) => id));
    }
  });
});

/** The lines of a CSV text, cell by cell (RFC 4180). */
function linesOf(text: string): string[][] {
  const lines: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g,
  )) {
    lines.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? "");
    if (end !== ",") lines.push([]);
  }
  return lines.slice(0, -1);
}

describe("GET /payment/csv", () => {
  it("has the list's records and filters, safely and exactly, and says when more follow", async () => {
    const records = await write(120);
    const newest = records.map(({ id }) => id).sort((a, b) => (a < b ? 1 : -1));
    const unit = `${"ab".repeat(28)}00`;
    const hostile = [
      "=1+1",
      "+1",
      "-1",
      "@SUM(A1)",
      "\t=1",
      "\r=1",
      ' =cmd|"x"!A1',
      'a "b",\nc',
      "fair",
    ];
    await env.DB.prepare("INSERT INTO unit VALUES (?, 'TKN', 2, 'env-admin', 0)").bind(unit).run();
    for (const [i, name] of hostile.entries())
      await env.DB.prepare(
        "UPDATE escrow SET agent_name = ?, funds = json(?), pay_by_time = ? WHERE id = ?",
      )
        .bind(
          name,
          JSON.stringify([
            { unit: i === 0 ? "" : unit, amount: "9007199254740993" },
            { unit: "cd".repeat(28), amount: "5" },
          ]),
          i === 0 ? "9".repeat(30) : "1767225600000",
          newest[i],
        )
        .run();
    const file = async (filter: string) => {
      const answer = await call(`/api/v1/payment/csv?network=Preprod${filter}`);
      expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
      const [header = [], ...lines] = linesOf(await answer.text());
      return {
        link: answer.headers.get("link"),
        rows: lines.map((cells): Record<string, string> => {
          expect(cells).toHaveLength(header.length);
          return Object.fromEntries(header.map((name, i) => [name, cells[i] ?? ""]));
        }),
      };
    };
    const { rows, link } = await file("");
    expect(link).toBeNull();
    expect(rows.map(({ id }) => id)).toEqual(newest);
    expect(rows.slice(0, hostile.length).map(({ agentName }) => agentName)).toEqual([
      ...hostile.slice(0, 7).map((text) => `'${text}`),
      ...hostile.slice(7),
    ]);
    const [first, second, third] = rows;
    const other = `5 ${"cd".repeat(28)}`;
    expect(first).toMatchObject({
      onChainState: "ResultSubmitted",
      paymentSourceType: expect.stringMatching(/^Web3ChainV/),
      ...{ unit: "", amount: "9007199254740993", ticker: "ADA", wholeAmount: "9007199254.740993" },
      ...{ otherAmounts: other, payByTime: "9".repeat(30) },
    });
    expect(second).toMatchObject({ unit, ticker: "TKN", wholeAmount: "90071992547409.93" });
    expect(third).toMatchObject({ payByTime: "2026-01-01T00:00:00.000Z" });

    const cut = await file("&limit=7&filterOnChainState=ResultSubmitted");
    expect(cut.rows.at(-1)).toMatchObject({
      id: `More follow: ask again with cursorId=${cut.rows.at(-2)?.id}`,
      createdAt: "",
    });
    const seen = cut.rows.slice(0, -1).map(({ id }) => id);
    expect(seen).toHaveLength(7);
    const [, next] = /^<(.*)>; rel="next"$/.exec(cut.link ?? "") ?? [];
    const answer = await call(`${next?.replace("limit=7", "limit=2000")}`);
    seen.push(
      ...linesOf(await answer.text())
        .slice(1)
        .map(([id = ""]) => id),
    );
    const hasResult = ({ state }: EscrowRecord) => state.onChainState === "ResultSubmitted";
    expect(seen.sort()).toEqual(
      records
        .filter(hasResult)
        .map(({ id }) => id)
        .sort(),
    );
    expect((await file("&createdFrom=2100-01-01")).rows).toEqual([]);
    const bound = await insertKey({ walletLimit: ["another"] });
    const nothing = await call("/api/v1/payment/csv?network=Preprod", {
      headers: { token: bound },
    });
    expect(linesOf(await nothing.text())).toHaveLength(1);
  });
});

describe("GET /payment/count", () => {
  it("counts what its filters leave", async () => {
    const records = await write(150);
    const count = async (filter: string) => {
      const answer = await call(`/api/v1/payment/count?network=Preprod${filter}`);
      return ((await answer.json()) as { data: { total: number } }).data.total;
    };
    expect(await count("")).toBe(150);
    expect(await count("&filterNeedsManualAction=true")).toBe(5);
    expect(await count("&filterSmartContractAddress=addr_test1c")).toBe(3);
    const ofV1 = records.filter(({ sourceType }) => sourceType === "Web3ChainV1").length;
    expect(await count("&filterPaymentSourceType=Web3ChainV1")).toBe(ofV1);
    expect(await count("&createdFrom=2100-01-01")).toBe(0);
    const byDay = async (filter: string) => {
      const answer = await call(`/api/v1/payment/count?network=Preprod${filter}`);
      return ((await answer.json()) as { data: { byDay: unknown[] } }).data.byDay;
    };
    const today = new Date().toISOString().slice(0, 10);
    const answer = await call("/api/v1/payment/count?network=Preprod&days=2");
    const disputed = records.filter(({ state }) => state.onChainState === "Disputed").length;
    expect(await answer.json()).toMatchObject({
      data: {
        byState: [
          { onChainState: "ResultSubmitted", count: 150 - disputed },
          { onChainState: "Disputed", count: disputed },
        ],
        byDay: expect.any(Array),
      },
    });
    expect(await byDay("&days=0")).toEqual([]);
    expect(await byDay("&days=31")).toHaveLength(31);
    const [yesterday, ofToday] = await byDay("&days=2&createdFrom=2100-01-01");
    expect(yesterday).toMatchObject({ total: 0, byState: [] });
    expect(ofToday).toEqual({
      day: today,
      total: 150,
      byState: [
        { onChainState: "ResultSubmitted", count: 150 - disputed },
        { onChainState: "Disputed", count: disputed },
      ],
    });
    const [rare] = await byDay("&days=1&filterSmartContractAddress=addr_test1c");
    expect(rare).toMatchObject({ day: today, total: 3 });
  });
});

describe("rows read by a list page", () => {
  it("are at most two for each record of the page and one more, and the tip, for every filter, at 2,000 records", async () => {
    const records = await write(2000);
    const middle = records.map(({ id }) => id).sort()[1000];
    const types = [undefined, "Web3ChainV1", "Web3ChainV2"] as const;
    const filters = [
      {},
      ...["addr_test1a", "addr_test1b", "addr_test1c", "addr_test1none"].map(
        (filterSmartContractAddress) => ({ filterSmartContractAddress }),
      ),
      ...ON_CHAIN_STATES.map((filterOnChainState) => ({ filterOnChainState })),
      { filterAgentIdentifier: RARE_AGENT },
      { filterAgentIdentifier: "ab".repeat(32) },
      { filterAgentIdentifier: "00".repeat(32) },
      { filterNeedsManualAction: true },
      { id: middle },
      { blockchainIdentifier: records[1000]?.blockchainIdentifier },
    ];
    for (const filter of filters)
      for (const filterPaymentSourceType of types)
        for (const cursorId of [undefined, middle])
          for (const limit of [10, 100]) {
            const { d1, rowsRead } = countingD1(env.DB);
            await readListPage(openDb({ DB: d1 }), "payment", {
              network: "Preprod",
              limit,
              cursorId,
              includeHistory: false,
              filterPaymentSourceType,
              env,
              ...filter,
            });
            const asked = JSON.stringify({ ...filter, filterPaymentSourceType, cursorId, limit });
            expect(rowsRead(), asked).toBeLessThanOrEqual(2 * limit + 3);
          }
  });

  it("are those of the records made in its days, for a count by day", async () => {
    await write(300);
    const now = Date.now();
    for (const [at, total] of [
      [now, 300],
      [now - 2 * DAY_MS, 0],
    ] as const) {
      const { d1, rowsRead } = countingD1(env.DB);
      const query = { network: "Preprod" as const, filterNeedsManualAction: false, days: 1, env };
      expect(await countByDay(openDb({ DB: d1 }), "payment", query, at)).toMatchObject([{ total }]);
      // And one for each pair of type and state, and the lists that are joined.
      expect(rowsRead()).toBeLessThanOrEqual(total + 80);
    }
  });

  it("are those of the errors alone, for a count of them", async () => {
    await write(900);
    const { d1, rowsRead } = countingD1(env.DB);
    const query = { network: "Preprod" as const, filterNeedsManualAction: true, env };
    expect((await countRecords(openDb({ DB: d1 }), "payment", query)).total).toBe(30);
    expect(rowsRead()).toBeLessThanOrEqual(31);
  });
});
