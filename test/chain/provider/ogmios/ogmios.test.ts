import { beforeAll, describe, expect, it } from "vitest";
import { createBlockfrostProvider } from "../../../../src/chain/provider/blockfrost/blockfrost.ts";
import { createOgmiosClient } from "../../../../src/chain/provider/ogmios/ogmios.ts";
import {
  EvaluationUnavailableError,
  ProviderError,
  ScriptFailedError,
} from "../../../../src/chain/provider/provider.ts";
import {
  findMentionedOutputs,
  isPermanentRejection,
} from "../../../../src/chain/provider/rejection.ts";
import { TestChain } from "../../../support/chain.ts";
import { urlOf } from "../../../support/sources/provider-list.ts";

const BYTES = Uint8Array.of(0x84, 0xa0);
const TX = "5a".repeat(32);

let chain: TestChain;

beforeAll(async () => {
  chain = await TestChain.create();
});

const client = () => createOgmiosClient({ baseUrl: urlOf(chain, "ogmios"), projectId: "" });

/** What becomes of a call that Ogmios answers so. */
async function outcomeOf(call: "evaluate" | "submit", answer: object, status = 400) {
  const body = JSON.stringify({ jsonrpc: "2.0", method: "any", id: null, ...answer });
  await chain.faults({ match: "^ogmios:", status, body });
  return client()
    [call](BYTES)
    .catch((error: unknown) => error);
}
const failing = (code: number, data?: unknown) => ({ error: { code, message: "No.", data } });
const validator = { purpose: "spend", index: 0 };
const reference = { transaction: { id: TX }, index: 1 };

describe("an evaluation by Ogmios", () => {
  it.each([
    [{ validator: { purpose: "mint", index: 2 } }, "mint:2"],
    // Ogmios 6.0.
    [{ validator: "spend:0" }, "spend:0"],
  ])("tells the units of each redeemer: %j", async (name, key) => {
    const result = [{ ...name, budget: { memory: 17, cpu: 90 } }];
    expect(await outcomeOf("evaluate", { result }, 200)).toEqual(
      new Map([[key, { memory: 17n, steps: 90n }]]),
    );
  });

  it.each([
    [3002, undefined, "AdditionalUtxoOverlap"],
    [3003, undefined, "NotSynced"],
    [3117, { unknownOutputReferences: [reference] }, "UnknownInput"],
    [
      3004,
      { reason: `Unknown transaction input (missing from UTxO set): ${TX}#1` },
      "UnknownInput",
    ],
    [3010, [{ validator, error: { code: 3117, message: "", data: {} } }], "UnknownInput"],
  ])("that says nothing of a script may pass: %i %j", async (code, data, obstacle) => {
    const error = await outcomeOf("evaluate", failing(code, data));
    expect(error).toBeInstanceOf(EvaluationUnavailableError);
    expect(error).toMatchObject({ obstacle });
  });

  it("names the scripts that fail", async () => {
    const data = [
      { validator, error: { code: 3117, message: "" } },
      { validator: { purpose: "mint", index: 0 }, error: { code: 3012, message: "" } },
    ];
    const error = await outcomeOf("evaluate", failing(3010, data));
    expect(error).toBeInstanceOf(ScriptFailedError);
    expect(error).toMatchObject({ redeemers: ["spend:0", "mint:0"] });
  });

  it.each([
    ["bytes that it cannot interpret, for ever", failing(-32602), 400, true],
    ["an error that says nothing", failing(3000), 400, false],
    ["no answer of Ogmios", { hello: 1 }, 200, false],
  ])("fails for %s", async (_, answer, status, permanent) => {
    const error = await outcomeOf("evaluate", answer, status);
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ permanent });
  });
});

describe("a submission to Ogmios", () => {
  it("is accepted with its hash", async () => {
    expect(await outcomeOf("submit", { result: { transaction: { id: TX } } }, 200)).toBeNull();
  });

  it.each([3100, 3104, 3105, 3116, 3119, 3129, 3131, 3136, 3161, 3164, 3166, -32602])(
    "is refused for its bytes with the code %i",
    async (code) => {
      const answer = (await outcomeOf("submit", failing(code))) as { refused: string };
      expect(isPermanentRejection(answer.refused)).toBe(true);
    },
  );

  it.each([3005, 3117, 3118, 3130, 3997])(
    "is refused for what the node knows with the code %i",
    async (code) => {
      const data = { unknownOutputReferences: [reference] };
      const { refused } = (await outcomeOf("submit", failing(code, data))) as { refused: string };
      expect(isPermanentRejection(refused)).toBe(false);
      expect(findMentionedOutputs(refused, [`${TX}#1`, `${TX}#2`])).toEqual([`${TX}#1`]);
    },
  );

  it.each([3000, 3998, -32601, 1])("is unknown with the code %i", async (code) => {
    expect(await outcomeOf("submit", failing(code))).toBeInstanceOf(ProviderError);
  });
});

describe("the ledger of Ogmios' node", () => {
  const reader = () => createBlockfrostProvider({ baseUrl: chain.url, projectId: "local" });
  /** A lock of an escrow, and its outputs as the reader has them. */
  const lock = async () => {
    await chain.faults();
    await chain.advance(2_000);
    const [step] = await chain.act([{ do: "lock", as: "a", version: "Web3ChainV2" }]);
    const txHash = step?.txHash ?? "";
    const outputs = (await reader().transactionUtxos(txHash))?.outputs ?? [];
    const { slot } = await reader().latestBlock();
    return { txHash, slot, indexes: outputs.map(({ outputIndex }) => outputIndex) };
  };
  const failures = [
    ["a wordless 400", { status: 400, body: "" }],
    ["a request that is too large for a proxy", { status: 413, body: "Payload Too Large" }],
    ["an era that it cannot ask", { status: 400, body: JSON.stringify(failing(2001)) }],
    ["half an answer", { truncate: true }],
  ] as const;

  it("has the same protocol parameters as the reader", async () => {
    await chain.faults();
    const [ours, theirs] = await Promise.all([
      client().protocolParameters(),
      reader().protocolParameters(),
    ]);
    expect(ours).toEqual({ ...theirs, priceMemory: "577/10000", priceSteps: "721/10000000" });
  });

  it("has unspent outputs, and says nothing of those that are spent or unknown", async () => {
    const { txHash, slot, indexes } = await lock();
    expect(indexes.length).toBeGreaterThan(1);
    expect(await client().unspentOutputs(txHash, [...indexes, 99], slot)).toEqual(indexes);
    await chain.act([{ do: "submitResult", on: "a" }]);
    expect(await client().unspentOutputs(txHash, [0], slot)).toEqual([]);
    expect(await client().unspentOutputs(TX, [0], slot)).toEqual([]);
  });

  it("has no say while it is behind the reader", async () => {
    const { txHash, slot } = await lock();
    await chain.faults({ match: "^ogmios:", behind: 2 });
    await expect(client().unspentOutputs(txHash, [0], slot)).rejects.toThrow(/behind/);
  });

  it("calls nothing unspent in an empty answer", async () => {
    const { txHash, slot, indexes } = await lock();
    await chain.faults({ match: "^ogmios:", dropRows: 100 });
    expect(await client().unspentOutputs(txHash, indexes, slot)).toEqual([]);
  });

  it.each(failures)("is unknown after %s", async (_, fault) => {
    await chain.faults({ match: "^ogmios:", ...fault });
    await expect(client().protocolParameters()).rejects.toThrow(ProviderError);
    await expect(client().unspentOutputs(TX, [0], 0)).rejects.toThrow(ProviderError);
  });
});

describe("the local chain's Ogmios", () => {
  it("tells the network, and refuses bytes that are no transaction", async () => {
    await chain.faults();
    expect(await client().networkMagic()).toBe(1);
    await expect(client().evaluate(BYTES)).rejects.toMatchObject({ permanent: true });
    expect(await client().submit(BYTES)).toMatchObject({
      refused: expect.stringContaining("malformed"),
    });
  });
});
