import { beforeAll, describe, expect, it } from "vitest";
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
