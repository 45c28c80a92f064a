import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { loseProviderKey, SourceApi } from "../support/sources/api.ts";

let api: SourceApi;

beforeAll(async () => {
  api = await SourceApi.open();
});

beforeEach(async () => {
  api.woken.length = 0;
  await emptyTables();
});

/** Ids of a list, after each source was created on its own contract. */
async function createBoth(): Promise<string[]> {
  const ids: string[] = [];
  for (const { address } of api.contracts) {
    const made = await api.create({ smartContractAddress: address });
    ids.unshift(made.data.id);
  }
  return ids.sort().reverse();
}

const PUBLIC = "/api/v1/payment-source";

describe.each([
  ["GET /payment-source-extended", `${PUBLIC}-extended`, "ExtendedPaymentSources"],
  ["GET /payment-source", PUBLIC, "PaymentSources"],
])("%s", (_, path, list) => {
  it("pages newest first, after the last id seen", async () => {
    const ids = await createBoth();
    const idsAt = async (query: string): Promise<string[]> => {
      const { data } = await api.ask("GET", `${path}${query}`);
      return data[list].map(({ id }: { id: string }) => id);
    };
    expect(await idsAt("")).toEqual(ids);
    expect(await idsAt("?limit=1")).toEqual(ids.slice(0, 1));
    expect(await idsAt("?take=1&limit=2")).toEqual(ids.slice(0, 1));
    expect(await idsAt(`?limit=1&cursorId=${ids[0]}`)).toEqual(ids.slice(1, 2));
    expect(await idsAt(`?cursorId=${ids.at(-1)}`)).toEqual([]);
    expect(await idsAt("?network=Mainnet")).toEqual([]);
  });
});

describe("GET /payment-source-extended", () => {
  it("shows a source whose provider key does not open without it", async () => {
    const [newest, oldest] = await createBoth();
    await loseProviderKey(oldest ?? "");
    const { status, data } = await api.list();
    expect(status).toBe(200);
    expect(data.ExtendedPaymentSources).toMatchObject([
      { id: newest, PaymentSourceConfig: { rpcProviderApiKey: "provider-key-1" } },
      { id: oldest, PaymentSourceConfig: { rpcProviderApiKey: "" } },
    ]);
  });
});

describe("GET /payment-source", () => {
  it("shows a User the source without what only operators may know", async () => {
    const { data: source } = await api.create({ ...api.purchasing(), ...api.selling() });
    const headers = { token: await insertKey({}) };
    const { status, data } = await api.ask("GET", PUBLIC, null, { headers });
    expect(status).toBe(200);
    const { PaymentSourceConfig, RpcProviders, RpcProviderOutages, error, ...shown } = source;
    expect(data.PaymentSources).toEqual([shown]);
    expect(JSON.stringify(data)).not.toContain(PaymentSourceConfig.rpcProviderApiKey);
  });

  it("shows a key the sources of its networks alone", async () => {
    await createBoth();
    const shownTo = async (networkLimit: string[], query = "") => {
      const headers = { token: await insertKey({ networkLimit }) };
      const { status, data } = await api.ask("GET", `${PUBLIC}${query}`, null, { headers });
      return status === 200 ? data.PaymentSources.length : status;
    };
    expect(await shownTo(["Preprod"])).toBe(2);
    expect(await shownTo(["Mainnet"])).toBe(0);
    expect(await shownTo(["eip155:8453"])).toBe(0);
    expect(await shownTo(["Mainnet"], "?network=Preprod")).toBe(403);
  });
});
