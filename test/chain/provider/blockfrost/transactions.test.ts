import { describe, expect, it } from "vitest";
import { createBlockfrostProvider } from "../../../../src/chain/provider/blockfrost/blockfrost.ts";
import { MAX_UTXOS } from "../../../../src/chain/provider/blockfrost/transactions.ts";
import { ProviderError } from "../../../../src/chain/provider/provider.ts";

const HASH = "ab".repeat(32);
const NOW = 1_772_600_767_000;

/** A provider whose service gives these answers in turn, the last one for ever. */
function provider(...answers: (() => Response)[]) {
  const requests: Request[] = [];
  const refusals: number[] = [];
  const client = createBlockfrostProvider({
    baseUrl: "https://provider.example/api/v0",
    projectId: "key",
    budget: {
      leaseCall: async () => {},
      reportRefusal: async (until) => {
        refusals.push(until);
      },
    },
    async fetch(url, init) {
      const answer = answers[Math.min(requests.length, answers.length - 1)];
      requests.push(new Request(url, init));
      if (!answer) throw new TypeError("network");
      return answer();
    },
    wait: async () => {},
    now: () => NOW,
  });
  return { client, requests, refusals };
}

const json =
  (body: unknown, status = 200) =>
  () =>
    new Response(JSON.stringify(body), { status });
const failure = (status: number) =>
  json({ status_code: status, error: "E", message: "why" }, status);
const BYTES = Uint8Array.of(0x84, 0xa0);

describe("submit", () => {
  it("posts the bytes once and takes the hash for a yes", async () => {
    const { client, requests } = provider(json(HASH));
    expect(await client.submit(BYTES)).toBeNull();
    const [request] = requests;
    expect(request?.url).toBe("https://provider.example/api/v0/tx/submit");
    expect(request?.headers.get("content-type")).toBe("application/cbor");
    expect(new Uint8Array((await request?.arrayBuffer()) ?? new ArrayBuffer(0))).toEqual(BYTES);
  });

  it("says why the node refused", async () => {
    const { client } = provider(failure(400));
    expect(await client.submit(BYTES)).toEqual({ refused: "why" });
  });

  it.each([403, 404, 425, 500, 502, 504])("never sends twice, and throws on %i", async (status) => {
    const { client, requests } = provider(failure(status));
    await expect(client.submit(BYTES)).rejects.toThrow(ProviderError);
    expect(requests).toHaveLength(1);
  });

  it.each([
    ["no answer at all", []],
    ["half an answer", [() => new Response('"abab')]],
    ["another answer", [json({ ok: true })]],
  ])("throws on %s: nobody knows", async (_, answers) => {
    await expect(provider(...answers).client.submit(BYTES)).rejects.toThrow(ProviderError);
  });

  it("tells everyone who uses the key of a refusal", async () => {
    const { client, refusals } = provider(failure(429));
    await expect(client.submit(BYTES)).rejects.toMatchObject({ retryAt: NOW + 10_000 });
    expect(refusals).toEqual([NOW + 10_000]);
  });
});

describe("evaluate", () => {
  const result = (value: object) => json({ type: "jsonwsp/response", result: value });

  it("reads what each script used", async () => {
    const { client, requests } = provider(
      result({ EvaluationResult: { "mint:0": { memory: 500, steps: 64100 } } }),
    );
    expect(await client.evaluate(BYTES)).toEqual(
      new Map([["mint:0", { memory: 500n, steps: 64_100n }]]),
    );
    expect(await requests[0]?.json()).toEqual({ cbor: "84a0", additionalUtxoSet: [] });
  });

  it("tells of outputs that the node may not know, in whole numbers of any size", async () => {
    const answer = { result: { EvaluationResult: {} } };
    const { client, requests } = provider(json(answer));
    const policy = "ab".repeat(28);
    const value = new Map([
      ["", 9_007_199_254_740_993n],
      [policy, 1n],
      [`${policy}cd`, 2n],
    ]);
    await client.evaluate(new Uint8Array([0x84]), [
      { txHash: HASH, index: 1, address: "addr", value },
    ]);
    expect(await requests[0]?.text()).toBe(
      `{"cbor":"84","additionalUtxoSet":[[{"txId":"${HASH}","index":1},{"address":"addr",` +
        `"value":{"coins":9007199254740993,"assets":{"${policy}":1,"${policy}.cd":2}}}]]}`,
    );
  });
});

describe("addressUtxos", () => {
  const row = (index: number) => ({
    address: "addr",
    tx_hash: HASH,
    output_index: index,
    amount: [{ unit: "lovelace", quantity: "5" }],
    inline_datum: null,
    reference_script_hash: null,
  });

  it("reads all pages; an address that was never seen has none", async () => {
    const page = (count: number, first = 0) =>
      json(Array.from({ length: count }, (_, i) => row(first + i)));
    const { client, requests } = provider(page(100), page(3, 100));
    expect(await client.addressUtxos("addr")).toHaveLength(103);
    expect(requests.map(({ url }) => new URL(url).searchParams.get("page"))).toEqual(["1", "2"]);
    expect(await provider(failure(404)).client.addressUtxos("addr")).toEqual([]);
  });

  it("shows the newest of more than a thousand, each once while others come in", async () => {
    let all = Array.from({ length: 1_500 }, (_, i) => row(i));
    const client = createBlockfrostProvider({
      ...{ baseUrl: "https://provider.example/api/v0", projectId: "key" },
      async fetch(url) {
        const { searchParams } = new URL(String(url));
        const page = Number(searchParams.get("page"));
        const listed = searchParams.get("order") === "desc" ? all.toReversed() : all;
        const rows = listed.slice((page - 1) * 100, page * 100);
        if (page === 3) all = [...all, row(all.length)];
        return Response.json(rows);
      },
    });
    const found = (await client.addressUtxos("addr")).map(({ outputIndex }) => outputIndex);
    expect(found).toEqual(Array.from({ length: found.length }, (_, i) => 1_499 - i));
    expect(found.length).toBeGreaterThanOrEqual(MAX_UTXOS);
  });
});

describe("a list that is too large to be read at once", () => {
  const tokens = Array.from({ length: 1_230 }, (_, i) => ({
    unit: "ab".repeat(28) + i.toString(16).padStart(4, "0"),
    quantity: "1",
  }));

  it("is read in parts, where it is of a wallet's outputs", async () => {
    // As many tokens of one policy as an output holds, in each of what a stranger has sent.
    const rows = Array.from({ length: 120 }, (_, index) => ({
      ...{ address: "addr", tx_hash: HASH, output_index: index },
      amount: [{ unit: "lovelace", quantity: "25000000" }, ...tokens],
      ...{ inline_datum: null, reference_script_hash: null },
    }));
    const client = createBlockfrostProvider({
      ...{ baseUrl: "https://provider.example/api/v0", projectId: "key" },
      async fetch(url) {
        const { searchParams } = new URL(String(url));
        const page = Number(searchParams.get("page"));
        const count = Number(searchParams.get("count"));
        return Response.json(rows.slice((page - 1) * count, page * count));
      },
    });
    const found = await client.addressUtxos("addr");
    expect(found.map(({ outputIndex }) => outputIndex)).toEqual(rows.map((_, i) => i));
  });

  it("is done without, where it tells what has spent a transaction's outputs", async () => {
    const { client } = provider(json({ inputs: "x".repeat(5 * 2 ** 20), outputs: [] }));
    expect(await client.spenders(HASH)).toBeNull();
  });
});

describe("protocolParameters", () => {
  it("keeps prices exact, whatever form JSON gave them", async () => {
    const { client } = provider(
      json({
        min_fee_a: 44,
        min_fee_b: 155381,
        price_mem: 0.0577,
        price_step: 7.21e-7,
        collateral_percent: 150,
        coins_per_utxo_size: "4310",
        max_tx_size: 16384,
        max_val_size: "5000",
        max_tx_ex_mem: "14000000",
        max_tx_ex_steps: "10000000000",
        min_fee_ref_script_cost_per_byte: 15.5,
        cost_models_raw: { PlutusV3: [1, -2] },
      }),
    );
    expect(await client.protocolParameters()).toMatchObject({
      priceMemory: "0.0577",
      priceSteps: "0.000000721",
      pricePerReferenceByte: "15.5",
      maxValueSize: 5_000,
      maxUnits: { memory: 14_000_000n, steps: 10_000_000_000n },
      plutusV3Costs: [1n, -2n],
    });
  });
});

describe("what has spent a transaction's outputs", () => {
  it("is told by their indexes, without what only a failed script would have made", async () => {
    const output = (output_index: number, consumed_by_tx: string | null, collateral = false) => ({
      ...{ output_index, consumed_by_tx, collateral },
    });
    const spender = "cd".repeat(32);
    const outputs = [output(0, null), output(1, spender), output(2, spender, true)];
    const { client, requests } = provider(json({ outputs }));
    expect(await client.spenders(HASH)).toEqual(new Map([[1, spender]]));
    expect(requests[0]?.url).toBe(`https://provider.example/api/v0/txs/${HASH}/utxos`);
  });

  it("is not known of a transaction that the provider does not have", async () => {
    expect(await provider(failure(404)).client.spenders(HASH)).toBeNull();
  });
});
