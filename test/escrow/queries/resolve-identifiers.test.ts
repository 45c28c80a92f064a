import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { type EscrowRecord, hashIdentifier } from "../../../src/escrow/model/escrow-record.ts";
import { call, emptyTables } from "../../support/app.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";

beforeEach(emptyTables);

interface Found {
  status: number;
  json: Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: the assertions are what checks the answer's shape
  data: any;
}

async function resolve(side: "payment" | "purchase", body: object): Promise<Found> {
  const path = `/api/v1/${side}/resolve-blockchain-identifier`;
  const answer = await call(path, {
    method: "POST",
    body: JSON.stringify({ network: "Preprod", ...body }),
  });
  const json = (await answer.json()) as { data: unknown };
  return { status: answer.status, json, data: json.data };
}

async function write(count: number, overrides: Partial<EscrowRecord> = {}) {
  const records = Array.from({ length: count }, () => makeRecord("purchase", overrides));
  for (const record of records) record.identifierHash = hashIdentifier(record.blockchainIdentifier);
  const writer = await Writer.create(env.DB, overrides.sourceId);
  await writer.change(records);
  await writer.change(records);
  return records;
}

describe("POST /purchase/resolve-blockchain-identifier", () => {
  it("answers the record of an identifier as the list shows it, with histories if requested", async () => {
    const [, record] = await write(3);
    const { blockchainIdentifier } = record ?? {};
    const listed = async (includeHistory: boolean) => {
      const query = `network=Preprod&id=${record?.id}&includeHistory=${includeHistory}`;
      const answer = await call(`/api/v1/purchase?${query}`);
      return ((await answer.json()) as { data: { Purchases: object[] } }).data.Purchases[0];
    };
    expect(await resolve("purchase", { blockchainIdentifier })).toMatchObject({
      status: 200,
      json: { status: "success" },
      data: await listed(false),
    });
    for (const includeHistory of ["true", "True"]) {
      const { data } = await resolve("purchase", { blockchainIdentifier, includeHistory });
      expect(data).toEqual(await listed(true));
      expect(data.TransactionHistory).toHaveLength(1);
    }
    expect((await resolve("payment", { blockchainIdentifier })).status).toBe(404);
    expect((await resolve("purchase", { blockchainIdentifier, network: "Mainnet" })).status).toBe(
      404,
    );
    expect(await resolve("purchase", { blockchainIdentifier: "00" })).toMatchObject({
      status: 404,
      json: { error: { message: "blockchainIdentifier: there is no such purchase" } },
    });
  });

  it("answers those of a hundred in the order asked, without the unknown", async () => {
    const records = await write(60);
    const shuffled = records.toSorted((a, b) =>
      hashIdentifier(a.id) < hashIdentifier(b.id) ? -1 : 1,
    );
    const known = shuffled.map(({ blockchainIdentifier }) => blockchainIdentifier);
    const blockchainIdentifiers = [
      ...known.slice(0, 30),
      "00",
      ...known.slice(30),
      ...known.slice(0, 39),
    ];
    const { data } = await resolve("purchase", { blockchainIdentifiers });
    expect(data.Purchases.map(({ id }: { id: string }) => id)).toEqual(
      shuffled.map(({ id }) => id),
    );
    const none = await resolve("payment", { blockchainIdentifiers });
    expect(none).toMatchObject({ status: 200, data: { Payments: [] } });
    const tooMany = { blockchainIdentifiers: [...blockchainIdentifiers, "01"] };
    expect((await resolve("purchase", tooMany)).status).toBe(400);
    expect(await resolve("purchase", {})).toMatchObject({
      status: 400,
      json: {
        error: { message: "blockchainIdentifier: is required, or blockchainIdentifiers" },
      },
    });
  });

  it("tells the records of two contracts with one identifier apart", async () => {
    const [first] = await write(1);
    const contractAddress = "addr_test1wother";
    const { id: _, ...shared } = makeRecord("purchase", {
      ...(first && { blockchainIdentifier: first.blockchainIdentifier }),
    });
    const [second] = await write(1, {
      sourceId: "source-b",
      contractAddress,
      blockchainIdentifier: shared.blockchainIdentifier,
    });
    const { blockchainIdentifier } = shared;
    const idOf = async (filterSmartContractAddress: string | null) =>
      (await resolve("purchase", { blockchainIdentifier, filterSmartContractAddress })).data?.id;
    expect(await idOf("addr_test1wcontract")).toBe(first?.id);
    expect(await idOf(contractAddress)).toBe(second?.id);
    expect(await idOf("addr_test1wnone")).toBeUndefined();
    expect([first?.id, second?.id]).toContain(await idOf(null));
    const both = await resolve("purchase", { blockchainIdentifiers: [blockchainIdentifier] });
    expect(both.data.Purchases).toHaveLength(2);
  });
});
