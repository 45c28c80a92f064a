import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { SourceApi } from "../support/sources/api.ts";

let api: SourceApi;
let address: string;

beforeAll(async () => {
  api = await SourceApi.open();
  address = api.wallet("seller-0").address;
});

beforeEach(async () => {
  await emptyTables();
  await api.chain.faults();
});

const get = async (path: string) =>
  api.ask("GET", `/api/v1${path}`, null, { headers: { token: await insertKey({}) } });

describe("GET /utxos", () => {
  it("pages through the outputs of any address, the newest first", async () => {
    await api.create();
    const pages = await Promise.all(
      [1, 2].map((page) => get(`/utxos?network=Preprod&address=${address}&count=1&page=${page}`)),
    );
    const { data } = await get(`/utxos?network=Preprod&address=${address}&order=Asc`);
    expect(data.Utxos.slice(-2).reverse()).toEqual(pages.flatMap((page) => page.data.Utxos));
    expect(data.Utxos[0]).toEqual({
      txHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      outputIndex: expect.any(Number),
      address,
      Amounts: [{ unit: "", quantity: expect.any(Number) }],
      dataHash: null,
      inlineDatum: null,
      referenceScriptHash: null,
      block: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("shows the datum of a contract's output, with its hash", async () => {
    await api.create();
    const contract = api.contract().address;
    const { data } = await get(`/utxos?network=Preprod&address=${contract}`);
    expect(data.Utxos).toMatchObject([
      {
        inlineDatum: expect.stringMatching(/^d87/),
        dataHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
  });

  it("answers 404 for a network without a source, and for an address that was never used", async () => {
    expect((await get(`/utxos?network=Preprod&address=${address}`)).status).toBe(404);
    await api.create();
    const { data: fresh } = await api.ask("POST", "/api/v1/wallet", { network: "Preprod" });
    const unused = await get(`/utxos?network=Preprod&address=${fresh.walletAddress}`);
    expect(unused).toMatchObject({ status: 404, message: expect.stringMatching(/^address: /) });
  });

  it("answers 502 when the provider fails", async () => {
    await api.create();
    await api.chain.faults({ match: "^/addresses/", status: 403 });
    expect((await get(`/utxos?network=Preprod&address=${address}`)).status).toBe(502);
  });
});

describe("GET /balance", () => {
  it("shows what an address holds with all digits", async () => {
    await api.create();
    const quantity = "9007199254740993";
    await api.chain.faults({
      match: "^/addresses/[^/]+$",
      status: 200,
      body: JSON.stringify({ amount: [{ unit: "lovelace", quantity }] }),
    });
    const answer = await api.text(`/api/v1/balance?network=Preprod&address=${address}`);
    expect(answer).toBe(
      `{"status":"success","data":{"Balance":[{"unit":"","quantity":${quantity}}]}}`,
    );
  });

  it("shows an address that was never used as empty", async () => {
    await api.create();
    const { data: fresh } = await api.ask("POST", "/api/v1/wallet", { network: "Preprod" });
    const { data } = await get(`/balance?network=Preprod&address=${fresh.walletAddress}`);
    expect(data).toEqual({ Balance: [] });
  });
});

describe("/units", () => {
  const NATIVE = { unit: "", ticker: "ADA", decimals: 6 };
  const token = { unit: `${"ab".repeat(28)}00`, ticker: "USDX", decimals: 2 };
  const save = (body: object) => api.ask("POST", "/api/v1/units", body);
  const forget = (unit: string) => api.ask("DELETE", "/api/v1/units", { unit });

  it("has the native coin, and what an Admin says of tokens until it is forgotten", async () => {
    expect((await get("/units")).data).toEqual({ Units: [NATIVE] });
    await save(token);
    const renamed = { ...token, ticker: "USDY" };
    expect(await save(renamed)).toMatchObject({ status: 200, data: renamed });
    expect((await get("/units")).data).toEqual({ Units: [NATIVE, renamed] });
    expect(await forget(token.unit)).toMatchObject({ status: 200, data: renamed });
    expect((await get("/units")).data).toEqual({ Units: [NATIVE] });
    expect((await forget(token.unit)).status).toBe(404);
  });
});
