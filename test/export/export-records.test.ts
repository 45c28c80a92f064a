import { env, exports } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { follow, paymentFeed, purchaseFeed } from "../../client/index.ts";
import type { EscrowRecord } from "../../src/escrow/model/escrow-record.ts";
import { type ExportLine, exportRecords } from "../../tools/export/export-records.ts";
import { RECORD_KINDS } from "../../tools/export/record-kinds.ts";
import { emptyTables } from "../support/app.ts";
import { service } from "../support/client.ts";
import { runs } from "../support/effort.ts";
import { openApi } from "../support/endpoints/document.ts";
import { insertRows } from "../support/insert-rows.ts";
import { insertKey } from "../support/keys.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";

type Options = Omit<Parameters<typeof exportRecords>[0], "serviceUrl" | "token" | "fetch">;

const sent: Request[] = [];

function open(options: Options): AsyncGenerator<ExportLine> {
  return exportRecords({
    serviceUrl: "http://service.test",
    token: env.ADMIN_KEY ?? "",
    fetch: async (request) => {
      sent.push(request.clone());
      return exports.default.fetch(request);
    },
    ...options,
  });
}

async function readAll(options: Options): Promise<ExportLine[]> {
  const lines: ExportLine[] = [];
  for await (const line of open(options)) lines.push(line);
  return lines;
}

/** The records of a kind. */
const recordsOf = (lines: readonly ExportLine[], kind: string) =>
  lines.flatMap((line) => ("kind" in line && line.kind === kind ? [line.record] : []));

/** How many lines each kind has. */
const countsOf = (lines: readonly ExportLine[]) => {
  const last = lines.at(-1);
  const counts = last && "counts" in last ? Object.entries(last.counts) : [];
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
};

beforeEach(async () => {
  sent.length = 0;
  await emptyTables();
});

describe("exportRecords", () => {
  it("has each record once, whatever changes meanwhile, and the diffs after `upTo` have the rest", async () => {
    const { client } = service();
    const step = fc.record({
      lines: fc.integer({ min: 1, max: 6 }),
      changed: fc.uniqueArray(fc.nat(9), { maxLength: 5 }),
      isNew: fc.boolean(),
    });
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(step, { maxLength: 6 }),
      async (pageSize, steps) => {
        await emptyTables();
        const writer = await Writer.create(env.DB);
        const expected = new Map<string, string>();
        const write = async (records: EscrowRecord[]) => {
          if (records.length === 0) return;
          for (const [id, hash] of await writer.change(records)) expected.set(id, hash);
        };
        const records = Array.from({ length: 10 }, (_, i) =>
          makeRecord(i % 2 ? "payment" : "purchase"),
        );
        await write(records);
        const before = records.map(({ id }) => id);

        const lines: ExportLine[] = [];
        const exported = open({ network: "Preprod", pageSize });
        const read = async (count: number) => {
          for (let i = 0; i < count; i++) {
            const { value, done } = await exported.next();
            if (done) return;
            lines.push(value);
          }
        };
        for (const { lines: count, changed, isNew } of steps) {
          await read(count);
          if (isNew) {
            const added = makeRecord("payment");
            records.push(added);
            await write([added]);
          }
          await write(changed.flatMap((i) => records[i] ?? []));
        }
        await read(Number.POSITIVE_INFINITY);

        const shown = [...recordsOf(lines, "payment"), ...recordsOf(lines, "purchase")];
        const ids = shown.map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids).toEqual(expect.arrayContaining(before));

        const merged = new Map(shown.map((one) => [one.id, one.resultHash]));
        const [head] = lines;
        const upTo = head && "upTo" in head ? head.upTo.escrows : null;
        const rest = { from: `${upTo}/0`, once: true };
        for await (const { item } of follow(paymentFeed(client, "Preprod"), rest))
          merged.set(item.id, item.resultHash);
        for await (const { item } of follow(purchaseFeed(client, "Preprod"), rest))
          merged.set(item.id, item.resultHash);
        expect(merged).toEqual(expected);
      },
    );
    await fc.assert(property, runs(10, 100));
  });

  it("begins with the clocks, ends with the counts, and reads with the newest bookmark", async () => {
    const writer = await Writer.create(env.DB);
    await writer.change([makeRecord("payment"), makeRecord("payment")]);
    const lines = await readAll({ network: "Preprod" });
    const stamps = recordsOf(lines, "payment").map(
      (one) => one.nextActionOrOnChainStateOrResultLastChangedAt,
    );
    expect(lines[0]).toEqual({
      ...{ network: "Preprod", wallet: null, key: null, startedAt: expect.any(String) },
      upTo: { escrows: stamps.sort().at(-1), registrations: null, agents: null, inboxes: null },
    });
    expect(lines.at(-1)).toMatchObject({ isComplete: true, counts: { payment: 2, purchase: 0 } });
    const lists = sent.filter(({ url }) => new URL(url).pathname === "/api/v1/payment");
    expect(lists.length).toBeGreaterThan(0);
    for (const { headers } of lists) expect(headers.get("x-d1-bookmark")).toMatch(/^[0-9a-f-]+$/);
  });

  it("finds an old value of the clock, in a few requests", async () => {
    const writer = await Writer.create(env.DB);
    const at = Date.now() - 100 * 24 * 60 * 60_000;
    await writer.change([makeRecord("purchase")], at);
    const [head] = await readAll({ network: "Preprod" });
    const upTo = head && "upTo" in head ? head.upTo.escrows : null;
    expect(Date.parse(upTo ?? "")).toBe(at);
  });

  it("has the records of a key alone", async () => {
    for (const id of ["key-a", "key-b"]) await insertKey({ id });
    const writer = await Writer.create(env.DB);
    const [own, other] = [makeRecord("payment"), makeRecord("payment", { requestedById: "key-b" })];
    await writer.change([own, other]);
    const audit = { request_id: "r", at: 1, action: "thing.change", target: "x" };
    await insertRows("audit", [
      { ...audit, id: "0a", api_key_id: "key-a", detail: "{}" },
      { ...audit, id: "0b", api_key_id: "key-b", detail: "{}" },
    ]);
    const endpoint = (id: string, by: string) => ({
      ...{ id, url: "", name: id, target_hash: id, format: "CHAT", events: "[]" },
      ...{ is_active: 1, created_by_id: by },
    });
    await insertRows("webhook_endpoint", [endpoint("wa", "key-a"), endpoint("wb", "key-b")]);
    const delivery = (endpointId: string) => ({
      ...{ endpoint_id: endpointId, event_id: "e", kind: "WEBHOOK_TEST", network: "service" },
      ...{ record_id: "r", status: "Success", wallet_ids: null },
    });
    await insertRows("webhook_delivery", [delivery("wa"), delivery("wb")]);
    const lines = await readAll({ network: "Preprod", keyId: "key-a" });
    expect(countsOf(lines)).toEqual({
      ...{ payment: 1, "api-key": 1, "audit-entry": 1, webhook: 1, "webhook-delivery": 1 },
    });
    expect(recordsOf(lines, "payment")).toEqual([expect.objectContaining({ id: own.id })]);
  });

  it("has the records of a wallet alone", async () => {
    const vkey = "22".repeat(28);
    const wallet = (id: string, key: string) => ({
      ...{ id, source_id: "source-a", network: "Preprod", role: "Selling", vkey: key },
      ...{ address: "addr_test1seller", mnemonic: "", note: "", created_by_id: "boss" },
    });
    await insertRows("managed_wallet", [
      wallet("wallet-a", vkey),
      wallet("wallet-b", "33".repeat(28)),
    ]);
    const writer = await Writer.create(env.DB);
    const other = { id: "wallet-b", vkey: "33".repeat(28), address: "addr_test1seller" };
    await writer.change([makeRecord("payment"), makeRecord("payment", { wallet: other })]);
    const rule = (id: string, walletId: string) => ({
      ...{ id, wallet_id: walletId, unit: "", enabled: 1, balance: null, threshold: "5" },
      ...{ status: "Unknown", created_by_id: "boss" },
    });
    await insertRows("low_balance_rule", [rule("ra", "wallet-a"), rule("rb", "wallet-b")]);
    const lines = await readAll({ network: "Preprod", walletId: "wallet-a" });
    expect(countsOf(lines)).toEqual({ payment: 1, wallet: 1, "low-balance-rule": 1 });
    await expect(readAll({ network: "Preprod", walletId: "nobody" })).rejects.toThrow("--wallet");
  });

  it("has the x402 payments of a chain alone, page after page", async () => {
    const attempt = (id: string, chain: string, keyId: string) => ({
      ...{ id, direction: "InboundVerify", status: "Verified", api_key_id: keyId },
      ...{ caip2_id: chain, asset: "0x1", amount: "5", pay_to: "0x2", payment_payload_hash: id },
    });
    await insertRows("x402_payment_attempt", [
      ...["1a", "1b", "1c"].map((id) => attempt(id, "eip155:1", "key-a")),
      ...[attempt("2a", "eip155:2", "key-a"), attempt("3a", "eip155:1", "key-b")],
    ]);
    const lines = await readAll({ network: "eip155:1", keyId: "key-a", pageSize: 2 });
    expect(recordsOf(lines, "x402-payment").map(({ id }) => id)).toEqual(["1c", "1b", "1a"]);
    expect(lines[0]).toMatchObject({ network: "eip155:1", key: "key-a", upTo: {} });
  });

  it("ends with the service's refusal, and without the last line", async () => {
    const token = await insertKey({});
    const exported = exportRecords({
      ...{ serviceUrl: "http://service.test", token, network: "Preprod", attempts: 1 },
      fetch: (request) => exports.default.fetch(request),
    });
    const lines: ExportLine[] = [];
    const reading = (async () => {
      for await (const line of exported) lines.push(line);
    })();
    await expect(reading).rejects.toMatchObject({ name: "ServiceError", status: 403 });
    expect(lines.some((line) => "isComplete" in line)).toBe(false);
  });
});

describe("the kinds", () => {
  it.each(RECORD_KINDS.map((kind) => [kind.kind, kind] as const))(
    "%s has a list of the OpenAPI document",
    (_, { path, isPost, limit, isWhole }) => {
      const operation = openApi.paths[path]?.[isPost ? "post" : "get"];
      expect(operation).toBeDefined();
      if (isPost || isWhole) return;
      const names = JSON.stringify(operation);
      expect(names).toContain(`"${limit?.[0] ?? "limit"}"`);
    },
  );
});
