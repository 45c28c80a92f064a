import { describe, expect, it } from "vitest";
import { createBlockfrostProvider } from "../../../../src/chain/provider/blockfrost/blockfrost.ts";
import {
  blockHashAt,
  type CallBudget,
  ProviderError,
} from "../../../../src/chain/provider/provider.ts";
import type { RequesterOptions } from "../../../../src/chain/provider/request.ts";
import { decodeTransaction } from "../../../../src/chain/transaction/decode-transaction.ts";
import { TestChain } from "../../../support/chain.ts";

const KEY = "preprodSecretKey0123456789";
const HASH = "ab".repeat(32);
const OTHER = "cd".repeat(32);
const ADDRESS = "addr_test1vq0e6dy7cehm9zfqurcf8mwwg9te9nszsx5gy5q4eclpd0c75xvdu";
/** 2026-03-04T05:06:07.000Z. */
const NOW = 1_772_600_767_000;
const MIDNIGHT = 1_772_668_800_000;
const BLOCK = { height: 7, hash: HASH, slot: 100, time: 1_700_000_000, size: 3, epoch: null };

type Answer = () => Response | Promise<Response>;
const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Answer => {
  return () => new Response(JSON.stringify(body), { status, headers });
};
const status = (code: number, headers: Record<string, string> = {}) =>
  json({ status_code: code, error: "E", message: "m" }, code, headers);
const fails: Answer = () => Promise.reject(new TypeError("network"));

/** A provider whose service gives these answers in turn, the last one for ever. */
function provider(answers: Answer[], options: Partial<RequesterOptions> = {}) {
  const requests: Request[] = [];
  const pauses: number[] = [];
  const events: string[] = [];
  const budget: CallBudget = {
    async leaseCall() {
      events.push("take");
    },
    async reportRefusal(until) {
      events.push(`refused until ${until}`);
    },
  };
  const client = createBlockfrostProvider({
    baseUrl: "https://provider.example/api/v0",
    projectId: KEY,
    budget,
    async fetch(url, init) {
      const answer = answers[Math.min(requests.length, answers.length - 1)];
      requests.push(new Request(url, init));
      if (!answer) throw new Error("no answer given");
      return answer();
    },
    async wait(ms) {
      pauses.push(ms);
    },
    now: () => NOW,
    ...options,
  });
  return { client, requests, pauses, events };
}

async function errorOf(call: Promise<unknown>): Promise<ProviderError> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProviderError)) throw new Error(`no ProviderError but ${error}`);
  return error;
}

describe("a Blockfrost provider reads", () => {
  it("the tip, with the key in the header that the service wants", async () => {
    const { client, requests } = provider([json(BLOCK)]);
    const { size: _, epoch: __, ...block } = BLOCK;
    expect(await client.latestBlock()).toEqual(block);
    const { height, hash, slot, time } = block;
    const previous = provider([json({ ...BLOCK, previous_block: "0b".repeat(32) })]).client;
    const tip = { height, hash, slot, time, previousHash: "0b".repeat(32) };
    expect(await previous.latestBlock()).toEqual(tip);
    expect([0, -1, -2].map((below) => blockHashAt(tip, height + below))).toEqual([
      hash,
      tip.previousHash,
      undefined,
    ]);
    expect(requests[0]?.url).toBe("https://provider.example/api/v0/blocks/latest");
    expect(requests[0]?.headers.get("project_id")).toBe(KEY);
    expect(requests[0]?.redirect).toBe("manual");
  });

  it("through a base URL with a slash at its end", async () => {
    const { client, requests } = provider([json(BLOCK)], { baseUrl: "https://p.example/x/" });
    await client.block(7);
    expect(requests[0]?.url).toBe("https://p.example/x/blocks/7");
  });

  it("a page of an address's transactions, ascending unless asked otherwise", async () => {
    const row = { tx_hash: HASH, tx_index: 2, block_height: 7, block_time: 1_700_000_000 };
    const { client, requests } = provider([json([row])]);
    const page = await client.addressTransactions(ADDRESS, { from: 5, page: 2, count: 100 });
    expect(page).toEqual([{ txHash: HASH, txIndex: 2, blockHeight: 7, blockTime: 1_700_000_000 }]);
    await client.addressTransactions(ADDRESS, { page: 1, count: 1, order: "desc" });
    const path = `/api/v0/addresses/${ADDRESS}/transactions`;
    expect(requests.map(({ url }) => new URL(url).pathname)).toEqual([path, path]);
    expect(requests.map(({ url }) => new URL(url).search)).toEqual([
      "?order=asc&count=100&page=2&from=5",
      "?order=desc&count=1&page=1",
    ]);
  });

  it("a transaction's block and position", async () => {
    const tx = {
      hash: HASH,
      block: OTHER,
      block_height: 7,
      index: 3,
      block_time: 1_700_000_000,
      valid_contract: false,
    };
    expect(await provider([json(tx)]).client.transaction(HASH)).toEqual({
      hash: HASH,
      blockHash: OTHER,
      blockHeight: 7,
      txIndex: 3,
      blockTime: 1_700_000_000,
      validContract: false,
    });
  });

  it("a transaction's bytes", async () => {
    const { client, requests } = provider([json({ cbor: "84a0" })]);
    expect(await client.transactionCbor(HASH)).toBe("84a0");
    expect(requests[0]?.url).toContain(`/txs/${HASH}/cbor`);
  });

  it("what a transaction spent and made, without collateral and reference inputs", async () => {
    const utxo = {
      address: ADDRESS,
      amount: [{ unit: "lovelace", quantity: "18446744073709551615" }],
      output_index: 1,
      data_hash: null,
      inline_datum: "d87980",
      reference_script_hash: null,
      collateral: false,
    };
    const input = { ...utxo, tx_hash: OTHER };
    const { client } = provider([
      json({
        hash: HASH,
        inputs: [
          { ...input, reference: false },
          { ...input, collateral: true },
          { ...input, reference: true },
          input,
        ],
        outputs: [utxo, { ...utxo, collateral: true, inline_datum: null }],
      }),
    ]);
    const read = {
      address: ADDRESS,
      outputIndex: 1,
      amount: utxo.amount,
      inlineDatum: "d87980",
      referenceScriptHash: null,
    };
    expect(await client.transactionUtxos(HASH)).toEqual({
      hash: HASH,
      inputs: [
        { ...read, txHash: OTHER },
        { ...read, txHash: OTHER },
      ],
      outputs: [{ ...read, txHash: HASH }],
    });
  });

  it("null where the service knows nothing, but never for the tip", async () => {
    const { client } = provider([status(404)]);
    expect(await client.block(7)).toBeNull();
    expect(await client.addressTransactions(ADDRESS, { page: 1, count: 1 })).toBeNull();
    expect(await client.transaction(HASH)).toBeNull();
    expect(await client.transactionCbor(HASH)).toBeNull();
    expect(await client.transactionUtxos(HASH)).toBeNull();
    expect(await errorOf(client.latestBlock())).toMatchObject({ status: 404, permanent: false });
  });
});

describe("a Blockfrost provider tries again", () => {
  it.each([
    ["500", status(500)],
    ["502", status(502)],
    ["520", status(520)],
    ["a failed connection", fails],
  ])("after %s, with growing pauses and a call from the budget each time", async (_, failure) => {
    const { client, pauses, events } = provider([failure, failure, json(BLOCK)]);
    expect(await client.block(7)).not.toBeNull();
    expect(events).toEqual(["take", "take", "take"]);
    const [first = 0, second = 0, ...more] = pauses;
    expect(more).toEqual([]);
    expect(first).toBeGreaterThanOrEqual(250);
    expect(first).toBeLessThanOrEqual(500);
    expect(second).toBeGreaterThanOrEqual(500);
    expect(second).toBeLessThanOrEqual(1000);
  });

  it("three times at most", async () => {
    const { client, requests } = provider([status(503)]);
    const error = await errorOf(client.block(7));
    expect(error).toMatchObject({ status: 503, permanent: false, retryAt: null });
    expect(error.message).toBe("provider: GET /blocks/7: status 503");
    expect(requests).toHaveLength(3);
  });

  it("not when time is up", async () => {
    let time = NOW;
    const now = () => {
      time += 10_000;
      return time;
    };
    const { client, requests } = provider([fails], { now });
    expect(await errorOf(client.block(7))).toMatchObject({ status: null, permanent: false });
    expect(requests).toHaveLength(2);
  });

  it("when no answer comes in time", async () => {
    const requests: string[] = [];
    const { client } = provider([], {
      timeoutMs: 1,
      fetch(_, init) {
        requests.push("asked");
        return new Promise((__, reject) => {
          init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
        });
      },
    });
    const error = await errorOf(client.block(7));
    expect(error.message).toBe("provider: GET /blocks/7: no answer within 1 ms");
    expect(requests).toHaveLength(3);
  });
});

describe("a tip of the future", () => {
  const tipIn = (seconds: number, clock?: "wall" | "tip") => {
    const tip = { ...BLOCK, time: NOW / 1_000 + seconds };
    const client = createBlockfrostProvider(
      {
        ...{ baseUrl: "https://provider.example/api/v0", projectId: KEY, now: () => NOW },
        fetch: async () => Response.json(tip),
      },
      clock ? { clock } : {},
    );
    return client.latestBlock();
  };

  it("is no tip by the wall clock, and may pass", async () => {
    expect(await tipIn(300, "wall")).toMatchObject({ height: 7 });
    const error = await errorOf(tipIn(86_400, "wall"));
    expect(error.message).toBe("provider: its tip is 86400 s ahead of the time");
    expect(error).toMatchObject({ permanent: false, retryAt: null });
    expect((await errorOf(tipIn(301, "wall"))).message).toContain("301 s ahead");
  });

  it("is one of a chain that lives in another time", async () => {
    expect(await tipIn(86_400, "tip")).toMatchObject({ height: 7 });
    expect(await tipIn(86_400)).toMatchObject({ height: 7 });
  });
});

describe("a Blockfrost provider that refuses", () => {
  it.each([
    [402, {}, MIDNIGHT],
    [402, { "retry-after": "60" }, NOW + 60_000],
    [418, {}, NOW + 3_600_000],
    [429, {}, NOW + 10_000],
    [429, { "retry-after": "30" }, NOW + 30_000],
    [429, { "retry-after": "3" }, NOW + 10_000],
    [429, { "retry-after": "0" }, NOW + 10_000],
    [418, { "retry-after": "0" }, NOW + 3_600_000],
    [402, { "retry-after": "0" }, MIDNIGHT],
    [429, { "retry-after": "999999999" }, NOW + 86_400_000],
    [402, { "retry-after": "Fri, 01 Jan 2100 00:00:00 GMT" }, NOW + 86_400_000],
    [429, { "retry-after": "Wed, 04 Mar 2026 05:06:17 GMT" }, NOW + 10_000],
    [429, { "retry-after": "Tue, 03 Mar 2026 00:00:00 GMT" }, NOW + 10_000],
    [429, { "retry-after": "soon" }, NOW + 10_000],
  ] as [number, Record<string, string>, number][])(
    "with %i %o is not asked again, and everyone learns when to come back",
    async (code, headers, retryAt) => {
      const { client, events } = provider([status(code, headers)]);
      const error = await errorOf(client.block(7));
      expect(error).toMatchObject({ status: code, permanent: false, retryAt });
      expect(events).toEqual(["take", `refused until ${retryAt}`]);
    },
  );

  it.each([400, 401, 403, 301])("with %i needs an operator", async (code) => {
    const { client, requests } = provider([status(code)]);
    expect(await errorOf(client.block(7))).toMatchObject({ status: code, permanent: true });
    expect(requests).toHaveLength(1);
  });

  it("is not asked at all when the budget has no call left", async () => {
    const none = new ProviderError("no calls left", { status: 429, retryAt: NOW + 5 });
    const { client, requests } = provider([json(BLOCK)], {
      budget: { leaseCall: () => Promise.reject(none), reportRefusal: () => Promise.resolve() },
    });
    expect(await errorOf(client.block(7))).toBe(none);
    expect(requests).toHaveLength(0);
  });
});

describe("a Blockfrost provider that answers nonsense", () => {
  it.each([
    ["no JSON", () => new Response("<html>"), "answer is not JSON"],
    ["another type", json([]), /answer: /],
    ["no height", json({ ...BLOCK, height: null }), /height: /],
    ["a height that is text", json({ ...BLOCK, height: "7" }), /height: /],
    ["a negative height", json({ ...BLOCK, height: -7 }), /height: /],
    ["a hash that is none", json({ ...BLOCK, hash: "x" }), "hash: must be 64 hex characters"],
    ["nothing", () => new Response(null), "answer is not JSON"],
  ] as [string, Answer, string | RegExp][])(
    "%s: the error says where",
    async (_, answer, problem) => {
      const { client, requests } = provider([answer]);
      const error = await errorOf(client.block(7));
      expect(error.message).toMatch(problem);
      expect(error).toMatchObject({ status: 200, permanent: false });
      expect(requests).toHaveLength(1);
    },
  );

  it("in one row of many: the error says in which", async () => {
    const row = { tx_hash: HASH, tx_index: 2, block_height: 7, block_time: 1 };
    const { client } = provider([json([row, { ...row, tx_index: "2" }])]);
    const error = await errorOf(client.addressTransactions(ADDRESS, { page: 1, count: 2 }));
    expect(error.message).toMatch(/: 1\.tx_index: /);
  });

  it("without end: it is cut off", async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 2 ** 20;
        controller.enqueue(new Uint8Array(2 ** 20).fill(0x20));
      },
    });
    const { client } = provider([() => new Response(endless)]);
    expect((await errorOf(client.block(7))).message).toMatch(/answer is too large/);
    expect(sent).toBeLessThan(2 ** 23);
  });
});

describe("the provider key", () => {
  it("stands in no error", async () => {
    const answers = [status(403), status(429), status(500), fails, json("no block")];
    for (const answer of answers) {
      const error = await errorOf(provider([answer]).client.block(7));
      expect(`${error.message} ${error.stack} ${error.cause}`).not.toContain(KEY);
    }
  });

  it("is refused without being repeated when no header can carry it", async () => {
    const { client, requests } = provider([json(BLOCK)], { projectId: `${KEY}\n` });
    const error = await errorOf(client.block(7));
    expect(error.permanent).toBe(true);
    expect(`${error.message} ${error.stack}`).not.toContain(KEY);
    expect(requests).toHaveLength(0);
  });
});

describe("on the local chain", () => {
  it("every read agrees with the transaction's own bytes", async () => {
    const chain = await TestChain.create();
    const { contracts } = await chain.wallets();
    const [step] = await chain.act([
      { do: "lock", as: "x", version: "Web3ChainV2", seller: "seller-0", buyer: "buyer-0" },
    ]);
    const client = createBlockfrostProvider({ baseUrl: chain.url, projectId: KEY });
    const address = contracts.find(({ type }) => type === "Web3ChainV2")?.address ?? "";

    const page = await client.addressTransactions(address, { from: 0, page: 1, count: 100 });
    const hash = step?.txHash ?? "";
    expect(page?.map(({ txHash }) => txHash)).toEqual([hash]);
    const position = await client.transaction(hash);
    expect(position).toMatchObject({ hash, validContract: true });
    expect(await client.block(position?.blockHeight ?? 0)).toEqual(await client.latestBlock());
    expect((await client.block(position?.blockHash ?? ""))?.height).toBe(position?.blockHeight);

    const tx = decodeTransaction((await client.transactionCbor(hash)) ?? "");
    const utxos = await client.transactionUtxos(hash);
    expect(tx.hash).toBe(hash);
    expect(utxos?.outputs.map((one) => [one.address, one.inlineDatum, one.amount])).toEqual(
      tx.outputs.map(({ address: to, datum, funds }) => [
        to,
        datum,
        funds.map(({ unit, amount }) => ({ unit: unit || "lovelace", quantity: String(amount) })),
      ]),
    );
    expect(
      utxos?.inputs.map(({ txHash, outputIndex }) => ({ txHash, index: outputIndex })),
    ).toEqual(tx.inputs);
    expect(await client.transaction(OTHER)).toBeNull();
  });
});
