import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { moveFinalRecords } from "../../src/archive/move-records.ts";
import { openDb } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";
import { type EscrowRecord, NO_LOCK_STATE } from "../../src/escrow/model/escrow-record.ts";
import { MOVED_ESCROWS } from "../../src/escrow/store/archived-escrows.ts";
import { app, emptyTables } from "../support/app.ts";
import {
  ARCHIVES,
  emptyArchives,
  makeFinal,
  NO_ARCHIVES,
  UNASKED_ARCHIVE,
} from "../support/archives.ts";
import { countingD1, wrapD1 } from "../support/d1.ts";
import { insertKey } from "../support/keys.ts";
import { saveDatabase } from "../support/restore.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";
import { insertSource } from "../support/sources/sources.ts";

const ADMIN = env.ADMIN_KEY ?? "";
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.now();
const AGENTS = ["aa".repeat(40), "bb".repeat(40)];
const BUYER = "11".repeat(28);
const STATES = ["Withdrawn", "RefundWithdrawn", "Withdrawn", "DisputedWithdrawn"] as const;

/** Records of four days, of two contracts, agents and wallets. */
function makeRecords(): EscrowRecord[] {
  return Array.from({ length: 24 }, (_, i) => {
    const isOther = i % 3 === 0;
    const record = makeRecord(i % 2 === 0 ? "payment" : "purchase", {
      id: newId(NOW - 3 * DAY_MS + i * 3 * HOUR_MS),
      wallet: { id: isOther ? "wallet-b" : "wallet-a", vkey: "22".repeat(28), address: "addr" },
      ...(isOther && { contractAddress: "addr_test1wother", sourceType: "Web3ChainV2" as const }),
    });
    const { buyer, buyerVkey, ...terms } = record.terms;
    record.terms = { ...terms, buyer, buyerVkey, agentIdentifier: AGENTS[i % 2] ?? "" };
    const lock = {
      ...{ buyer: buyer ?? "", buyerVkey: buyerVkey ?? "", collateralReturn: "0" },
      ...{ buyerReturnAddress: null, sellerReturnAddress: null },
    };
    record.state = {
      ...NO_LOCK_STATE,
      lock,
      withdrawnForSeller: [{ unit: "", amount: "3000000" }],
      withdrawnForBuyer: [{ unit: "", amount: "2000000" }],
    };
    return record;
  });
}

/** Writes records, of which the last six stay open. */
async function write(records: readonly EscrowRecord[]): Promise<void> {
  const writer = await Writer.create(env.DB);
  for (const [i, record] of records.entries()) {
    await writer.change([record], NOW + i);
    const state = STATES[i % STATES.length];
    if (i < records.length - 6) await writer.change([record], NOW + i, state);
  }
  await openDb(env).all("INSERT INTO chain_tip (network, height) VALUES ('Preprod', 900)");
  await env.DB.prepare(
    `INSERT INTO escrow_request (record_id, requested_by_id, metadata, made_at)
     SELECT id, requested_by_id, iif(rowid % 3 = 0, 'note of ' || id, NULL), 1 FROM escrow`,
  ).run();
  await makeFinal();
}

const move = (archives: object, changedBefore: number) =>
  moveFinalRecords(
    { ...env, ...archives, ARCHIVE_AFTER_MINUTES: "0" },
    [{ ...MOVED_ESCROWS, changedAt: `iif(changed_at < ${changedBefore}, changed_at, 1e15)` }],
    NOW + DAY_MS,
    Date.now() + 60_000,
  );

/** Moves some to the first archive, and the rest to the second. */
async function moveAll(): Promise<void> {
  await move({ ARCHIVE_1: env.ARCHIVE_1 }, NOW + 9);
  const full = wrapD1(env.ARCHIVE_1, async (_, run) => {
    const result = await run();
    for (const { meta } of result as D1Result[]) meta.size_after = 1e12;
    return result;
  });
  await move({ ARCHIVE_1: full, ARCHIVE_2: env.TEST_ARCHIVE_2 }, NOW + DAY_MS);
}

const iso = (at: number) => encodeURIComponent(new Date(at).toISOString());

function listReads(records: readonly EscrowRecord[]): [path: string, body?: object][] {
  const middle = records[10];
  const sides = ["payment", "purchase"].flatMap((side): [string, object?][] => {
    const list = `/${side}?network=Preprod`;
    return [
      ...["", "/next-action", "/onchain-state-or-result"].flatMap((diff) =>
        ["&limit=3", "&limit=100&includeHistory=true", `&lastUpdate=${iso(NOW + 12)}`].map(
          (query): [string] => [`/${side}/diff${diff}?network=Preprod${query}`],
        ),
      ),
      [`${list}&limit=100`],
      [`${list}&limit=4`],
      [`${list}&limit=4&cursorId=${middle?.id}&includeHistory=true`],
      [`${list}&limit=100&filterOnChainState=RefundWithdrawn`],
      [`${list}&limit=100&filterSmartContractAddress=addr_test1wother`],
      [`${list}&limit=100&filterPaymentSourceType=Web3ChainV2`],
      [`${list}&limit=100&filterAgentIdentifier=${AGENTS[0]}`],
      [`${list}&limit=100&filterNeedsManualAction=true`],
      [`${list}&limit=100&searchQuery=refund`],
      [`${list}&limit=100&createdFrom=${iso(NOW - 2 * DAY_MS)}&createdTo=${iso(NOW - DAY_MS)}`],
      [`${list}&id=${middle?.id}`],
      [`${list}&id=${records[11]?.id}`],
      [`${list}&blockchainIdentifier=${middle?.blockchainIdentifier}`],
      [`/${side}/csv?network=Preprod&limit=7`],
      [`/${side}/count?network=Preprod&days=5`],
      [`/${side}/count?network=Preprod&filterSmartContractAddress=addr_test1wother&days=2`],
      [`/${side}/count?network=Preprod&createdFrom=${iso(NOW - 2 * DAY_MS)}`],
      [
        `/${side}/count?network=Preprod&createdFrom=${iso(NOW - 2 * DAY_MS)}&createdTo=${iso(NOW - HOUR_MS)}`,
      ],
      [
        `/${side}/resolve-blockchain-identifier`,
        {
          network: "Preprod",
          blockchainIdentifiers: records.map((one) => one.blockchainIdentifier),
          includeHistory: "true",
        },
      ],
    ];
  });
  const books = { network: "Preprod", startDate: new Date(NOW - 9 * DAY_MS).toISOString() };
  const month = new Date(NOW).toISOString().slice(0, "YYYY-MM".length);
  const missing = `/invoice/monthly/missing?network=Preprod&month=${month}`;
  return [
    ...sides,
    ["/payment/income", { ...books, agentIdentifier: null }],
    ["/purchase/spending", { ...books, agentIdentifier: null }],
    ["/payment/income", { ...books, agentIdentifier: AGENTS[0] }],
    [`${missing}&limit=100`],
    [`${missing}&limit=3`],
    [`${missing}&limit=100&buyerWalletVkey=${BUYER}`],
  ];
}

interface Answer {
  path: string;
  status: number;
  etag: string | null;
  text: string;
}

async function readAll(
  reads: ReturnType<typeof listReads>,
  token: string,
  bindings: object,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const [path, body] of reads) {
    const init = body && {
      method: "POST",
      headers: { token, "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    const answer = await app.request(`/api/v1${path}`, init ?? { headers: { token } }, bindings);
    const text = (await answer.text()).replace(/"periodEnd":"[^"]*"/, "");
    // The end of a period is the time of the request.
    const etag = body ? null : answer.headers.get("etag");
    answers.push({ path, status: answer.status, etag, text });
  }
  return answers;
}

beforeEach(async () => {
  await emptyTables();
  await emptyArchives();
});

describe("reads", () => {
  it.each(["an Admin", "a key that is bound to a wallet"])(
    "answer %s as before once records are in archives",
    async (who) => {
      const records = makeRecords();
      await write(records);
      const token =
        who === "an Admin" ? ADMIN : await insertKey({ walletLimit: ["wallet-a"], canPay: true });
      const before = await readAll(listReads(records), token, env);
      for (const one of before) expect(one, JSON.stringify(one)).toMatchObject({ status: 200 });
      await moveAll();
      const here = await env.DB.prepare("SELECT count(*) AS n FROM escrow").first<number>("n");
      expect(here).toBe(6);
      const after = await readAll(listReads(records), token, { ...env, ...ARCHIVES });
      for (const [i, answer] of after.entries()) expect(answer).toEqual(before[i]);
    },
  );

  it("answer as before once the database alone was set back, and once its records moved again", async () => {
    const records = makeRecords();
    await write(records);
    const before = await readAll(listReads(records), ADMIN, env);
    const restore = await saveDatabase();
    await moveAll();
    await restore();
    const bindings = { ...env, ...ARCHIVES };
    expect(await readAll(listReads(records), ADMIN, bindings)).toEqual(before);
    await moveAll();
    const here = await env.DB.prepare("SELECT count(*) AS n FROM escrow").first<number>("n");
    expect(here).toBe(6);
    expect(await readAll(listReads(records), ADMIN, bindings)).toEqual(before);
  });

  it("of books count each escrow once, whichever call comes after a move", async () => {
    const records = makeRecords();
    await write(records);
    const reads = listReads(records)
      .filter(([path]) => path === "/payment/income")
      .slice(0, 1);
    const before = await readAll(reads, ADMIN, env);
    const restore = await saveDatabase();
    let tried = 0;
    for (let isMoved = true; isMoved; tried++) {
      await restore();
      await emptyArchives();
      await move({ ARCHIVE_1: env.ARCHIVE_1 }, NOW + 9);
      let calls = 0;
      isMoved = false;
      const wrap = (d1: D1Database) =>
        wrapD1(d1, async (_, run) => {
          if (calls++ === tried) {
            isMoved = true;
            await move({ ARCHIVE_1: env.ARCHIVE_1 }, NOW + DAY_MS);
          }
          return run();
        });
      const bindings = { ...env, DB: wrap(env.DB), ARCHIVE_1: wrap(env.ARCHIVE_1) };
      expect(await readAll(reads, ADMIN, bindings), `a move before call ${tried}`).toEqual(before);
    }
    expect(tried).toBeGreaterThan(4);
  });

  it("of a poller that has caught up ask the database alone, for one more row", async () => {
    const records = makeRecords();
    await write(records);
    const url = `/api/v1/payment/diff?network=Preprod&lastUpdate=${iso(Date.now() + HOUR_MS)}`;
    const ask = async (archives: object) => {
      const { d1, rowsRead } = countingD1(env.DB);
      const answer = await app.request(
        url,
        { headers: { token: ADMIN } },
        { ...env, ...archives, DB: d1 },
      );
      expect(answer.status).toBe(200);
      return rowsRead();
    };
    await ask({});
    const before = await ask({});
    await moveAll();
    // D1 counts a search that finds no archive.
    expect(await ask({ ARCHIVE_1: UNASKED_ARCHIVE })).toBeLessThanOrEqual(before + 1);
  });

  it("of a page ask an archive for two rows more than the page has, and for its notes", async () => {
    const records = makeRecords();
    await write(records);
    await moveAll();
    for (const [path, list] of [
      ["/payment/diff?network=Preprod&lastUpdate=1970-01-01T00:00:00Z", "Payments"],
      [`/purchase?network=Preprod&cursorId=${records[5]?.id}`, "Purchases"],
    ] as const) {
      const { d1, rowsRead } = countingD1(env.ARCHIVE_1);
      const answer = await app.request(
        `/api/v1${path}&limit=2`,
        { headers: { token: ADMIN } },
        { ...env, ...ARCHIVES, ARCHIVE_1: d1 },
      );
      const { data } = (await answer.json()) as { data: Record<string, { metadata: unknown }[]> };
      const notes = data[list]?.filter(({ metadata }) => metadata !== null) ?? [];
      expect(data[list]).toHaveLength(2);
      expect(rowsRead()).toBeLessThanOrEqual(2 + 2 + notes.length);
    }
  });

  it("ask the database alone while nothing is archived, and with one call for a page", async () => {
    const records = makeRecords();
    await write(records);
    for (const read of listReads(records)) {
      let calls = 0;
      const DB = wrapD1(env.DB, (_, run) => {
        calls++;
        return run();
      });
      const bindings = { ...env, DB, ARCHIVE_1: UNASKED_ARCHIVE };
      const [answer] = await readAll([read], ADMIN, bindings);
      expect(answer, read[0]).toMatchObject({ status: 200 });
      const isPage = /^\/\w+(\/diff[^?]*)?\?/.test(read[0]);
      expect(calls, read[0]).toBeLessThanOrEqual(isPage ? 1 : 2);
    }
  });

  it("answer 503 when an archive was set back or is not bound, and others go on", async () => {
    const records = makeRecords();
    await write(records);
    await moveAll();
    const ask = async (path: string, bindings: object) => {
      const answer = await app.request(`/api/v1${path}`, { headers: { token: ADMIN } }, bindings);
      return { status: answer.status };
    };
    const all = "/payment?network=Preprod&limit=100";
    expect(await ask(all, { ...env, ARCHIVE_1: env.ARCHIVE_1 })).toMatchObject({
      status: 503,
    });
    expect(await ask("/payment?network=Preprod&limit=3", { ...env, ...ARCHIVES })).toMatchObject({
      status: 200,
    });
    await env.ARCHIVE_1.prepare("UPDATE archive_operation SET operation = 0").run();
    const behind = await app.request(
      `/api/v1${all}`,
      { headers: { token: ADMIN } },
      { ...env, ...ARCHIVES },
    );
    expect(behind.status).toBe(503);
    expect(await behind.text()).toContain("archive_behind");
  });

  it.each([
    ["ARCHIVE_1", NO_ARCHIVES],
    ["ARCHIVE_2", { ARCHIVE_1: env.ARCHIVE_1 }],
  ])(
    "that need %s name it while it is not bound, and others answer as before",
    async (name, bound) => {
      const records = makeRecords();
      await write(records);
      const before = await readAll(listReads(records), ADMIN, env);
      await moveAll();
      const after = await readAll(listReads(records), ADMIN, { ...env, ...bound });
      const refused = after.filter(({ status }, i) => {
        if (status === 200) expect(after[i]).toEqual(before[i]);
        return status !== 200;
      });
      for (const one of refused)
        expect([one.status, one.text]).toEqual([
          503,
          expect.stringContaining(`${name} is not bound`),
        ]);
      const paths = refused.map(({ path }) => path.split("?")[0]);
      expect(new Set(paths)).toEqual(
        new Set([
          ...["/payment", "/purchase"].flatMap((side) =>
            ["", "/diff", "/diff/next-action", "/diff/onchain-state-or-result", "/csv", "/count"]
              .concat("/resolve-blockchain-identifier")
              .map((path) => side + path),
          ),
          ...["/payment/income", "/purchase/spending", "/invoice/monthly/missing"],
        ]),
      );
      expect(refused.length).toBeLessThan(after.length);
    },
  );

  it("of an identifier answer 503 when its archive lacks the record", async () => {
    const records = makeRecords();
    await write(records);
    await moveAll();
    const { id, blockchainIdentifier } = records[1] as EscrowRecord;
    const cancel = async (network: string) => {
      const answer = await app.request(
        "/api/v1/purchase/cancel-refund-request",
        {
          method: "POST",
          headers: { token: ADMIN, "content-type": "application/json" },
          body: JSON.stringify({ network, blockchainIdentifier }),
        },
        { ...env, ...ARCHIVES },
      );
      return [answer.status, ((await answer.json()) as { error: { code: string } }).error.code];
    };
    expect(await cancel("Preprod")).toEqual([409, "wrong_state"]);
    await env.ARCHIVE_1.prepare("DELETE FROM escrow WHERE id = ?").bind(id).run();
    expect(await cancel("Preprod")).toEqual([503, "archive_behind"]);
    // The record is of another network then.
    await insertSource("source-a", "Preprod");
    expect(await cancel("Mainnet")).toEqual([404, "not_found"]);
  });
});
