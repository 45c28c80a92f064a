import { describe, expect, it } from "vitest";
import {
  type AdditionalOutput,
  type EvaluationObstacle,
  EvaluationUnavailableError,
  type ExecutionUnits,
  ScriptFailedError,
} from "../../../../src/chain/provider/provider.ts";
import { formatOutputReference } from "../../../../src/chain/transaction/transaction-plan.ts";
import { deriveWalletKeys } from "../../../../src/chain/wallet-keys.ts";
import type { WalletTransaction } from "../../../../src/wallets/model/wallet-transaction.ts";
import type { TransactionPart } from "../../../../src/wallets/queue/feature.ts";
import { composeTransaction } from "../../../../src/wallets/spending/building/compose-transaction.ts";
import { BadMembersError } from "../../../../src/wallets/spending/building/exclude-bad-members.ts";
import { measureScripts } from "../../../../src/wallets/spending/building/measure-scripts.ts";
import { Measurements } from "../../../../src/wallets/spending/context/measurements.ts";
import { PROTOCOL_PARAMETERS as parameters } from "../../../support/protocol-parameters.ts";
import { transaction } from "../transactions.ts";

const keys = await deriveWalletKeys(`${"test ".repeat(23)}sauce`, "Preprod");
const PARENT = "aa".repeat(32);
const placementOutput = { txHash: PARENT, index: 1, value: new Map([["", 90_000_000n]]) };
const funding = {
  address: keys.address,
  placementOutput,
  outputs: [placementOutput],
  collateral: null,
};
const frame = { validity: { from: 1, to: 2 }, parameters, signer: keys.vkey };

/** Spends the output of a script whose transaction has this byte for a hash. */
const step = (byte: string, used: ExecutionUnits | null = null): TransactionPart => ({
  spends: [],
  mints: [],
  scriptInputs: [
    {
      txHash: byte.repeat(32),
      index: 4,
      value: new Map([["", 5_000_000n]]),
      script: { from: "witness", hash: "5c".repeat(28), cbor: "450101002499" },
      redeemer: Uint8Array.of(0),
    },
  ],
  getMeasuredUnits: () => used,
  outputs: [],
  metadata: new Map(),
  detail: {},
});
const membersOf = (parts: readonly TransactionPart[], isAlone = false) =>
  parts.map((part, i) => ({ task: { id: String(i), isAlone }, part }));

/** A node that answers with what it is given, one after the other. */
function node(...answers: (EvaluationObstacle | Error | null)[]) {
  const told: string[][] = [];
  return {
    told,
    async evaluate(_: Uint8Array, additional: readonly AdditionalOutput[] = []) {
      told.push(additional.map(formatOutputReference));
      const answer = answers.shift() ?? null;
      if (answer instanceof Error) throw answer;
      if (answer !== null) throw new EvaluationUnavailableError(answer, answer);
      return new Map([["spend:0", { memory: 1_000n, steps: 2_000n }]]);
    },
  };
}

const parent = (phase: WalletTransaction["phase"]) =>
  transaction(PARENT, ["x#0"], {
    phase,
    made: [0, 1].map((index) => ({ ...placementOutput, index })),
  });

const measure = (
  provider: ReturnType<typeof node>,
  { phase = "InBlock", accepted = [] }: { phase?: WalletTransaction["phase"]; accepted?: string[] },
  evaluator = { knowsMempool: true },
) => {
  const parts = [step("11")];
  return measureScripts(provider, composeTransaction(parts, funding, frame), membersOf(parts), {
    openTransactions: [parent(phase)],
    acceptedHashes: new Set(accepted),
    evaluator,
    measurements: new Measurements(),
  });
};

/** Of a wallet that has nothing under way, and has measured nothing yet. */
const atRest = () => ({
  ...{ openTransactions: [], acceptedHashes: new Set<string>(), evaluator: { knowsMempool: true } },
  measurements: new Measurements(),
});

/** The same, of a datum whose shape is known. */
const shaped = (byte: string, shape: string): TransactionPart => ({
  ...step(byte),
  scriptInputs: step(byte).scriptInputs.map((one) => ({ ...one, shape })),
});

describe("the units of a transaction's scripts", () => {
  it("are those that are known, and no node is asked", async () => {
    const parts = [step("11", { memory: 100n, steps: 200n })];
    const asked = node();
    const known = atRest();
    const composed = composeTransaction(parts, funding, frame);
    const plan = await measureScripts(asked, composed, membersOf(parts), known);
    expect(plan.scriptInputs).toMatchObject([{ units: { memory: 115n, steps: 230n } }]);
    expect(asked.told).toEqual([]);
    // One that failed alone is measured afresh.
    const afresh = await measureScripts(asked, composed, membersOf(parts, true), known);
    expect(afresh.scriptInputs).toMatchObject([{ units: { memory: 1_150n, steps: 2_300n } }]);
  });

  it("are asked once for all transactions of one shape, and again where anything of it differs", async () => {
    const known = atRest();
    const asked = node();
    const use = (parts: TransactionPart[], isAlone = false, more = frame) =>
      measureScripts(
        asked,
        composeTransaction(parts, funding, more),
        membersOf(parts, isAlone),
        known,
      );
    const first = await use([shaped("11", "a")]);
    const second = await use([shaped("22", "a")]);
    expect(second.scriptInputs[0]?.units).toEqual(first.scriptInputs[0]?.units);
    expect(asked.told).toHaveLength(1);
    const unlike: Parameters<typeof use>[] = [
      [[shaped("22", "b")]],
      // Behind the wallet's own input.
      [[shaped("bb", "a")]],
      [[shaped("22", "a"), shaped("33", "a")]],
      [[step("22")]],
      [[shaped("22", "a")], true],
      [
        [
          {
            ...shaped("22", "a"),
            outputs: [{ address: keys.address, value: new Map([["", 2_000_000n]]) }],
          },
        ],
      ],
      [
        [shaped("22", "a")],
        false,
        { ...frame, parameters: { ...parameters, plutusV3Costs: [1n] } },
      ],
    ];
    for (const [i, args] of unlike.entries()) {
      await use(...args).catch(() => null);
      expect(asked.told, `${i}`).toHaveLength(i + 2);
    }
  });

  it.each([
    ["in a block", { phase: "InBlock" as const }],
    ["accepted", { phase: "Sent" as const }],
    ["accepted just now", { phase: "Stored" as const, accepted: [PARENT] }],
  ])("are asked of a node without the parents that are %s", async (_, known) => {
    const asked = node();
    await measure(asked, known);
    expect(asked.told).toEqual([[]]);
  });

  it("are asked with the outputs of parents that no node is known to have", async () => {
    const asked = node();
    await measure(asked, { phase: "Stored" });
    expect(asked.told).toEqual([[`${PARENT}#1`]]);
  });

  it("are asked with them when the node does not know them, and without when it does", async () => {
    const unknowing = node("UnknownInput");
    await measure(unknowing, { phase: "Sent" });
    expect(unknowing.told).toEqual([[], [`${PARENT}#1`]]);
    const again = node();
    await measure(again, { phase: "Sent" }, { knowsMempool: false });
    expect(again.told).toEqual([[`${PARENT}#1`]]);
    const knowing = node("AdditionalUtxoOverlap");
    await measure(knowing, { phase: "Stored" });
    expect(knowing.told).toEqual([[`${PARENT}#1`], []]);
  });

  it("tell which members have no place, by redeemer or by input", async () => {
    const parts = [step("99"), step("11"), step("55")];
    const failing = async (error: Error) => {
      const composed = composeTransaction(parts, funding, frame);
      const thrown = await measureScripts(node(error), composed, membersOf(parts), atRest()).catch(
        (one: unknown) => one,
      );
      return thrown instanceof BadMembersError ? thrown.members.map(({ task }) => task.id) : thrown;
    };
    // By the order of all inputs: 11, 55, 99, aa.
    expect(await failing(new ScriptFailedError("no", ["spend:0", "spend:2"]))).toEqual(["0", "1"]);
    const nobody = new ScriptFailedError("no");
    expect(await failing(nobody)).toBe(nobody);
    const missing = new EvaluationUnavailableError("UnknownInput", `unknown: ${"55".repeat(32)}#4`);
    expect(await failing(missing)).toEqual(["2"]);
    const another = new EvaluationUnavailableError(
      "UnknownInput",
      `unknown: ${"55".repeat(32)}#40`,
    );
    expect(await failing(another)).toBe(another);
  });
});
