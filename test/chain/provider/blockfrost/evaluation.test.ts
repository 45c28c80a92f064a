import { beforeAll, describe, expect, test } from "vitest";
import { createBlockfrostProvider } from "../../../../src/chain/provider/blockfrost/blockfrost.ts";
import {
  EvaluationUnavailableError,
  ProviderError,
  ScriptFailedError,
} from "../../../../src/chain/provider/provider.ts";
import { mentionsOutput } from "../../../../src/chain/provider/rejection.ts";
import { TestChain } from "../../../support/chain.ts";

const BYTES = Uint8Array.of(0x84, 0xa0);
const INPUT = { txId: "5a".repeat(32), index: 1 };

let chain: TestChain;

beforeAll(async () => {
  chain = await TestChain.create();
});

const client = () => createBlockfrostProvider({ baseUrl: chain.url, projectId: "local" });

/** What becomes of a call that the provider answers so. */
async function thrownBy(
  call: "evaluate" | "submit",
  match: string,
  status: number,
  body: unknown,
): Promise<unknown> {
  await chain.faults({ match, status, body: JSON.stringify(body) });
  return client()
    [call](BYTES)
    .catch((error: unknown) => error);
}

const evaluated = (status: number, body: unknown) =>
  thrownBy("evaluate", "/utils/txs/evaluate", status, body);

/** The node's answer as the provider hands it through. */
const failing = (EvaluationFailure: unknown) => ({
  type: "jsonwsp/response",
  version: "1.0",
  servicename: "ogmios",
  methodname: "EvaluateTx",
  result: { EvaluationFailure },
  reflection: { id: "999b3343-c6ab-4752-abd2-055e753c11f5" },
});
/** The provider's own error. */
const refused = (message: string) => ({ status_code: 400, error: "Bad Request", message });
const fault = {
  type: "jsonwsp/fault",
  version: "1.0",
  servicename: "ogmios",
  fault: { code: "client", string: "failed to decode payload from base64 or base16" },
};

describe("an evaluation that fails", () => {
  test.each([
    [
      "the validator said no",
      { ScriptFailures: { "spend:0": [{ validatorFailed: { error: "error", traces: ["no"] } }] } },
    ],
    [
      "a script is missing",
      { ScriptFailures: { "mint:0": [{ missingRequiredScripts: { missing: ["mint:0"] } }] } },
    ],
    [
      "one of two inputs is unknown, and a script failed besides",
      {
        ScriptFailures: {
          "spend:0": [{ unknownInputReferencedByRedeemer: INPUT }],
          "spend:1": [{ validatorFailed: { error: "error", traces: [] } }],
        },
      },
    ],
    ["nobody is named", { ScriptFailures: {} }],
  ])("because of its scripts is final for the transaction: %s", async (_, failure) => {
    const error = await evaluated(200, failing(failure));
    expect(error).toBeInstanceOf(ScriptFailedError);
    expect(error).toMatchObject({
      detail: expect.stringContaining("ScriptFailures"),
      redeemers: Object.keys(failure.ScriptFailures),
    });
    // The provider may wrap the node's answer in a separate error.
    expect(await evaluated(400, refused(JSON.stringify(failing(failure))))).toBeInstanceOf(
      ScriptFailedError,
    );
    expect(await evaluated(400, failing(failure))).toBeInstanceOf(ScriptFailedError);
  });

  test.each([
    ["UnknownInput", { UnknownInputs: [INPUT] }],
    [
      "UnknownInput",
      {
        CannotCreateEvaluationContext: {
          reason: `Unknown transaction input (missing from UTxO set): ${INPUT.txId}#1`,
        },
      },
    ],
    [
      "UnknownInput",
      { ScriptFailures: { "spend:0": [{ unknownInputReferencedByRedeemer: INPUT }] } },
    ],
    ["AdditionalUtxoOverlap", { AdditionalUtxoOverlap: [INPUT] }],
    ["NotSynced", { NotEnoughSynced: { currentNodeEra: "Shelley", minimumRequiredEra: "Alonzo" } }],
  ])("because of %s says nothing of a script, and may pass: %j", async (obstacle, failure) => {
    for (const [status, body] of [
      [200, failing(failure)],
      [400, refused(JSON.stringify(failing(failure)))],
    ] as const) {
      const error = await evaluated(status, body);
      expect(error).toBeInstanceOf(EvaluationUnavailableError);
      const detail = expect.stringContaining("{");
      expect(error).toMatchObject({ obstacle, permanent: false, retryAt: null, detail });
      expect(String(error)).not.toContain("{");
    }
  });

  test("tells all that the node says, however many inputs it names before the last", async () => {
    const inputs = Array.from({ length: 40 }, (_, index) => ({ ...INPUT, index }));
    const error = await evaluated(200, failing({ UnknownInputs: inputs }));
    const last = { txHash: INPUT.txId, index: 39 };
    expect(error).toBeInstanceOf(EvaluationUnavailableError);
    expect(mentionsOutput((error as EvaluationUnavailableError).detail, last)).toBe(true);
  });

  test.each([
    ["a fault of the request", 200, fault],
    ["a fault of the request, as an error", 400, refused(JSON.stringify(fault))],
    ["a body that the provider refuses", 400, refused("Invalid or malformed transaction")],
    [
      "a context that no node can make",
      200,
      failing({ CannotCreateEvaluationContext: { reason: "Uncomputable slot arithmetic" } }),
    ],
    ["an era without scripts", 200, failing({ IncompatibleEra: "mary" })],
  ])("because of %s is ours to mend: it is not sent again", async (_, status, body) => {
    const error = await evaluated(status, body);
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).not.toBeInstanceOf(EvaluationUnavailableError);
    expect(error).toMatchObject({ permanent: true });
  });

  test.each([
    ["a kind that nobody knows", 200, failing({ SomethingNew: {} })],
    ["half an answer", 200, { type: "jsonwsp/response", result: null }],
    ["trouble of the provider", 500, { status_code: 500, error: "E", message: "why" }],
  ])("because of %s may pass", async (_, status, body) => {
    const error = await evaluated(status, body);
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ permanent: false });
  });
});

describe("a transaction that is sent", () => {
  test.each([
    [425, "Mempool Full", false],
    [403, "Forbidden", true],
  ])("and answered %i (%s): permanent %s", async (status, error, permanent) => {
    const body = { status_code: status, error, message: error };
    const thrown = await thrownBy("submit", "/tx/submit", status, body);
    expect(thrown).toBeInstanceOf(ProviderError);
    expect(thrown).toMatchObject({ status, permanent, retryAt: null });
  });
});
