import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { ON_CHAIN_STATES } from "../../src/chain/network.ts";
import { db } from "../../src/db/client.ts";
import { hashOf } from "../../src/escrow/fold/escrow-outputs.ts";
import { listPage } from "../../src/escrow/list.ts";
import { countByDay, countRecords } from "../../src/escrow/reads/count.ts";
import type { EscrowRecord } from "../../src/escrow/record.ts";
import { call, emptyTables } from "../support/app.ts";
import { countingD1 } from "../support/d1.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";

const SOURCES = [
  { sourceType: "Web3ChainV1", contractAddress: "addr_test1a" },
  { sourceType: "Web3ChainV2", contractAddress: "addr_test1b" },
  { sourceType: "Web3ChainV2", contractAddress: "addr_test1c" },
] as const;

beforeEach(emptyTables);

const DAY_MS = 24 * 60 * 60_000;
const RARE_AGENT = "cd".repeat(40);
const ERROR = { isManual: false, type: "Unknown", note: "something", txHash: null };

/**
 * Payments of which every fiftieth is of a rare contract, every seventieth in a rare state, every
 * fortieth of a rare agent, and every thirtieth has an error.
 */
async function write(count: number): Promise<EscrowRecord[]> {
  const writer = await Writer.create(env.DB);
  const records = Array.from({ length: count }, (_, i) =>
    makeRecord("payment", SOURCES[i % 50 === 0 ? 2 : i % 2] ?? {}),
  );
  for (const [i, record] of records.entries()) {
    record.identifierHash = hashOf(record.blockchainIdentifier);
    record.terms = {
      ...record.terms,
      ...(i % 40 === 0 && { agentIdentifier: RARE_AGENT, agentName: `Translator ${i}` }),
      inputHash: `${i}`.padStart(64, "e"),
      funds: [{ unit: "", amount: String(i * 10_000) }],
    };
    if (i % 30 === 0) record.wanted = { ...record.wanted, error: ERROR };
  }
  for (let i = 0; i < count; i += 200) await writer.change(records.slice(i, i + 200));
  for (const [i, record] of records.entries())
    record.state.onChainState = i % 70 === 0 ? "Disputed" : "ResultSubmitted";
  const disputed = records.filter(({ state }) => state.onChainState === "Disputed");
  await env.DB.prepare(
    `UPDATE escrow SET on_chain_state = 'Disputed',
       doc = replace(doc, '"onChainState":"ResultSubmitted"', '"onChainState":"Disputed"')
     WHERE id IN (SELECT value FROM json_each(?))`,
  )
    .bind(JSON.stringify(disputed.map(({ id }) => id)))
    .run();
  return records;
}

describe("GET /payment", () => {
  it("returns what its filters ask for, newest first, page after page", async () => {
    const records = await write(150);
    const isAmong = (from: number, to: number) => (one: EscrowRecord) =>
      records.indexOf(one) >= from && records.indexOf(one) < to;
    const hasError = ({ wanted }: EscrowRecord) => wanted.error !== null;
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
  it("are at most the page, one more and the tip, for every filter, at 2,000 records", async () => {
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
            await listPage(db({ DB: d1 }), "payment", {
              network: "Preprod",
              limit,
              cursorId,
              includeHistory: false,
              filterPaymentSourceType,
              ...filter,
            });
            const asked = JSON.stringify({ ...filter, filterPaymentSourceType, cursorId, limit });
            expect(rowsRead(), asked).toBeLessThanOrEqual(limit + 2);
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
      const query = { network: "Preprod" as const, filterNeedsManualAction: false, days: 1 };
      expect(await countByDay(db({ DB: d1 }), "payment", query, at)).toMatchObject([{ total }]);
      // And one for each pair of type and state, and the lists that are joined.
      expect(rowsRead()).toBeLessThanOrEqual(total + 80);
    }
  });

  it("are those of the errors alone, for a count of them", async () => {
    await write(900);
    const { d1, rowsRead } = countingD1(env.DB);
    const query = { network: "Preprod" as const, filterNeedsManualAction: true };
    expect((await countRecords(db({ DB: d1 }), "payment", query)).total).toBe(30);
    expect(rowsRead()).toBeLessThanOrEqual(31);
  });
});
