import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { SourceApi } from "../support/sources/api.ts";
import { settle } from "../support/sources/sync.ts";
import { ask, documents, MONTH, pay, send } from "./support.ts";

let api: SourceApi;

beforeEach(async () => {
  await emptyTables();
  api = await SourceApi.open();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Follows the contract until nothing is left to read, and returns the source's id. */
async function follow(): Promise<string> {
  const { data } = await api.create(api.selling());
  await settle(api.chain, data.id);
  return data.id;
}

interface Payment {
  onChainState: string;
  unlockTime: string;
  CurrentTransaction: { blockTime: number };
}

/** All records of payments. */
async function payments(): Promise<Payment[]> {
  return (await api.ask("GET", "/api/v1/payment?network=Preprod")).data.Payments;
}

/** What is billed to the buyer at that time for the month of it: the answer, and what is on no invoice. */
async function billed(at: number) {
  vi.useFakeTimers({ toFake: ["Date"], now: at });
  const month = new Date(at).toISOString().slice(0, 7);
  const missing = await send("GET", `monthly/missing?network=Preprod&month=${month}`);
  const { status, data } = await ask({ buyerWalletVkey: api.wallet("buyer-0").vkey, month });
  vi.useRealTimers();
  return { status, data, missing: (missing.data.UninvoicedPayments as unknown[]).length };
}

/** Payments on the invoice that was issued last. */
async function quantities(): Promise<string[]> {
  const { lines } = JSON.parse((await documents()).at(-1)?.content ?? "{}") as {
    lines: { quantity: string }[];
  };
  return lines.map((line) => line.quantity);
}

describe("a payment of a source that was removed and created again", () => {
  /** One withdrawal that a source saw before it was removed. Returns the time of its block. */
  async function withdraw(): Promise<number> {
    await api.chain.act([
      { do: "submitResult", on: "a" },
      { do: "withdraw", on: "a" },
    ]);
    const source = await follow();
    const [payment] = await payments();
    await api.remove(source);
    return Number(payment?.CurrentTransaction.blockTime) * 1000;
  }

  it("is billed once, by the invoice that billed the payment before", async () => {
    const at = await withdraw();
    const first = await billed(at);
    expect(first).toMatchObject({ status: 200, missing: 1 });
    expect(await quantities()).toEqual(["1"]);
    const again = await follow();
    expect(await payments()).toHaveLength(2);
    expect(await billed(at)).toEqual({ ...first, missing: 0 });
    await api.remove(again);
    expect(await billed(at)).toEqual({ ...first, missing: 0 });
    expect(await documents()).toHaveLength(1);
  });

  it("is billed once when no invoice billed the payment before", async () => {
    const at = await withdraw();
    await follow();
    expect(await payments()).toHaveLength(2);
    expect(await billed(at)).toMatchObject({ status: 200, missing: 1 });
    expect(await quantities()).toEqual(["1"]);
    expect((await billed(at)).missing).toBe(0);
  });
});

describe("a submitted result of a source that was removed", () => {
  /** A result that a source saw before it was removed at that time. Returns its unlock time. */
  async function submit(removedAt: (unlockTime: number) => number): Promise<number> {
    await api.chain.act([{ do: "submitResult", on: "a" }]);
    const source = await follow();
    const [payment] = await payments();
    expect(payment?.onChainState).toBe("ResultSubmitted");
    const unlockTime = Number(payment?.unlockTime);
    expect((await api.remove(source, {}, true)).status).toBe(200);
    // Records are written by the database's clock, which no test can move.
    await env.DB.prepare("UPDATE payment_source SET deleted_at = ? WHERE id = ?")
      .bind(removedAt(unlockTime), source)
      .run();
    return unlockTime;
  }

  it("is not billed when its unlock time passes afterwards, since its outcome is unknown", async () => {
    const unlockTime = await submit((unlock) => unlock - 1);
    expect(await billed(unlockTime)).toMatchObject({ status: 404, missing: 0 });
  });

  it("is billed when the funds could be withdrawn before", async () => {
    const unlockTime = await submit((unlock) => unlock);
    expect(await billed(unlockTime)).toMatchObject({ status: 200, missing: 1 });
    expect(await billed(unlockTime)).toMatchObject({ status: 200, missing: 0 });
  });
});

describe("payments with one identifier at two contracts", () => {
  it("are two payments, since identifiers of Web3ChainV1 do not name the contract", async () => {
    const [first] = await pay({});
    const [second] = await pay({});
    await env.DB.prepare("UPDATE escrow SET identifier_hash = 'aa' WHERE id IN (?, ?)")
      .bind(first, second)
      .run();
    await env.DB.prepare("UPDATE escrow_identity SET identifier_hash = x'aa' WHERE id IN (?, ?)")
      .bind(first, second)
      .run();
    await env.DB.prepare("UPDATE escrow SET contract_address = 'addr_other' WHERE id = ?")
      .bind(second)
      .run();
    const missing = `monthly/missing?network=Preprod&month=${MONTH}`;
    expect((await send("GET", missing)).data.UninvoicedPayments).toHaveLength(2);
    expect((await ask()).status).toBe(200);
    expect(await quantities()).toEqual(["2"]);
    expect((await send("GET", missing)).data.UninvoicedPayments).toEqual([]);
    await ask({ forceRegenerate: true });
    expect(await quantities()).toEqual(["2"]);
  });
});
