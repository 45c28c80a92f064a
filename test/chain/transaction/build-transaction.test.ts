import { blake2b } from "@noble/hashes/blake2.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  computeRegistryAssetName,
  encodeRegistryRedeemer,
  isPolicyScript,
} from "../../../src/chain/contracts/registry-token.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import type { Metadatum } from "../../../src/chain/metadata.ts";
import {
  buildTransaction,
  draftTransaction,
  TransactionTooLargeError,
} from "../../../src/chain/transaction/build-transaction.ts";
import { decodeTransaction, outputAt } from "../../../src/chain/transaction/decode-transaction.ts";
import {
  computeMinimumCoin,
  createInputSelector,
  InsufficientFundsError,
  toWalletOutputs,
} from "../../../src/chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type OutputReference,
  type ScriptInput,
  type ScriptSource,
  type TransactionPlan,
  type WalletOutput,
} from "../../../src/chain/transaction/transaction-plan.ts";
import { addValue, sumToValue, type Value } from "../../../src/chain/transaction/value.ts";
import { deriveWalletKeys } from "../../../src/chain/wallet-keys.ts";
import { PROTOCOL_PARAMETERS } from "../../support/protocol-parameters.ts";

const UNITS = { memory: 500n, steps: 64_100n };
/** Fee of `UNITS`: 28.85 and 4.62161, together rounded up. */
const UNITS_FEE = 34n;
const POLICY = "ab".repeat(28);
const NAME = "cd".repeat(32);
const OTHER_TOKEN = `${"ee".repeat(28)}01`;
const keys = await deriveWalletKeys(`${"test ".repeat(23)}sauce`, "Preprod");

let made = 0;
/** An output of the wallet, of these minor units and perhaps a token. */
function output(coin: bigint, unit?: string): WalletOutput {
  const txHash = (++made).toString(16).padStart(64, "0");
  const funds = [{ unit: "", amount: coin }, ...(unit ? [{ unit, amount: 1n }] : [])];
  return { txHash, index: made % 3, value: sumToValue(funds) };
}

const REDEEMER = encodeRegistryRedeemer("Web3ChainV1", "mint");
const POLICY_SCRIPT: ScriptSource = { from: "witness", hash: POLICY, cbor: "450101002499" };

function plan(overrides: Partial<TransactionPlan> = {}): TransactionPlan {
  return {
    scriptInputs: [],
    mints: [mint(1n)],
    outputs: [
      {
        address: keys.address,
        value: sumToValue([
          { unit: "", amount: 5_000_000n },
          { unit: POLICY + NAME, amount: 1n },
        ]),
      },
    ],
    requiredSigners: [keys.vkey],
    metadata: new Map<bigint, Metadatum>([[674n, new Map([["msg", ["a"]]])]]),
    validity: { from: 100, to: 700 },
    parameters: PROTOCOL_PARAMETERS,
    ...overrides,
  };
}

function mint(quantity: bigint) {
  const tokens = new Map([[NAME, quantity]]);
  return { script: POLICY_SCRIPT, tokens, redeemer: REDEEMER, units: UNITS };
}

/** Built with the outputs of one wallet, of which the first has to be spent. */
function build(outputs: WalletOutput[], planned = plan()) {
  const wallet = {
    address: keys.address,
    outputs,
    mustSpend: outputs.slice(0, 1),
    collateral: null,
  };
  return buildTransaction(planned, createInputSelector(wallet, planned), [keys]);
}

describe("a wallet's transaction", () => {
  it("balances, pays the fee of its size and no more, and leaves enough in every output", () => {
    const coin = fc.bigInt({ min: 1_200_000n, max: 50_000_000_000n });
    const wallet = fc.array(fc.tuple(coin, fc.boolean()), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(wallet, fc.integer({ min: 0, max: 40 }), (coins, texts) => {
        const outputs = coins.map(([amount, token], i) =>
          output(i === 0 ? amount + 9_000_000n : amount, token ? OTHER_TOKEN : undefined),
        );
        const metadata = new Map<bigint, Metadatum>([[674n, Array(texts).fill("x".repeat(60))]]);
        const built = build(outputs, plan({ metadata }));
        const tx = decodeTransaction(built.cbor);
        expect(tx.hash).toBe(built.hash);
        expect(tx.fee).toBe(built.fee);

        const spent = tx.inputs.map((input) =>
          outputs.find((one) => formatOutputReference(one) === formatOutputReference(input)),
        );
        expect(spent).toContain(outputs[0]);
        const taken = sumToValue(
          ...spent.map((one) =>
            [...(one?.value ?? [])].map(([unit, amount]) => ({ unit, amount })),
          ),
          tx.mint.map(({ policyId, assetName, quantity }) => ({
            unit: policyId + assetName,
            amount: quantity,
          })),
        );
        const given = sumToValue(...tx.outputs.map(({ funds }) => funds), [
          { unit: "", amount: tx.fee },
        ]);
        expect([...taken].sort()).toEqual([...given].sort());

        const needed = 155_381n + 44n * BigInt(built.cbor.length) + UNITS_FEE;
        expect(tx.fee).toBeGreaterThanOrEqual(needed);
        // Beyond the exact fee at most what the encoding of the amounts may shrink by.
        expect(tx.fee - needed).toBeLessThanOrEqual(44n * 16n);
        for (const { address, funds } of tx.outputs) {
          const value = sumToValue(funds);
          expect(value.get("")).toBeGreaterThanOrEqual(
            computeMinimumCoin({ address, value }, PROTOCOL_PARAMETERS),
          );
        }
      }),
      { numRuns: 100 },
    );
  });

  it("is the same for the same plan", () => {
    const outputs = [output(20_000_000n)];
    expect(build(outputs)).toEqual(build(outputs));
  });

  it.each([
    ["nothing", [], /lacks \d+ minor units/],
    ["too little", [6_000_000n], /lacks \d+ minor units/],
  ])("of a wallet with %s says how much is missing", (_, coins, message) => {
    const outputs = coins.map((coin) => output(coin));
    expect(() => build(outputs)).toThrow(InsufficientFundsError);
    expect(() => build(outputs)).toThrow(message);
  });

  it("leaves outputs without a script alone that carry one", () => {
    const row = {
      address: keys.address,
      txHash: "ab".repeat(32),
      outputIndex: 1,
      amount: [{ unit: "lovelace", quantity: "5" }],
      inlineDatum: null,
      referenceScriptHash: null,
    };
    const scripted = { ...row, referenceScriptHash: "cd".repeat(28) };
    expect(toWalletOutputs([row, scripted])).toEqual([
      { txHash: row.txHash, index: 1, value: new Map([["", 5n]]) },
    ]);
  });

  it("burns only what the wallet holds", () => {
    const outputs = [output(20_000_000n)];
    const burn = plan({ outputs: [], mints: [mint(-1n)] });
    expect(() => build(outputs, burn)).toThrow("does not hold the token");
    const held = [output(5_000_000n, POLICY + NAME), output(20_000_000n)];
    const tx = decodeTransaction(build(held, burn).cbor);
    expect(tx.mint).toEqual([{ policyId: POLICY, assetName: NAME, quantity: -1n }]);
    expect(tx.outputs.flatMap(({ funds }) => funds.map(({ unit }) => unit))).toEqual([""]);
  });

  it("that is larger than the ledger allows is refused", () => {
    const metadata = new Map<bigint, Metadatum>([[674n, Array(300).fill("x".repeat(60))]]);
    const outputs = [output(20_000_000n)];
    expect(() => build(outputs, plan({ metadata }))).toThrow(TransactionTooLargeError);
  });

  it("without scripts puts nothing at stake, and has no script data", () => {
    const outputs = [output(20_000_000n)];
    const { selection: payment, cbor } = build(
      outputs,
      plan({ mints: [], outputs: [], metadata: new Map(), requiredSigners: [] }),
    );
    expect(payment.collateral).toBeNull();
    expect(decodeTransaction(cbor)).toMatchObject({ redeemerCount: 0, mint: [] });
  });
});

describe("a registry token", () => {
  const seed = { txHash: "01".repeat(32), index: 258 };
  const source = Uint8Array.from([...Array(32).fill(1), 0, 0, 1, 2]);

  it("of generation 1 is named by the hash of the output that is spent", () => {
    expect(computeRegistryAssetName("Web3ChainV1", seed)).toBe(
      bytesToHex(blake2b(source, { dkLen: 32 })),
    );
  });

  it("of generation 2 is named by nonce, hash and version", () => {
    const root = bytesToHex(blake2b(source, { dkLen: 28 }));
    expect(computeRegistryAssetName("Web3ChainV2", seed)).toBe(`10${root}000000`);
  });

  it("is minted and burned with the redeemers of its generation", () => {
    const hex = (type: "Web3ChainV1" | "Web3ChainV2", does: "mint" | "burn") =>
      bytesToHex(encodeRegistryRedeemer(type, does));
    expect([hex("Web3ChainV1", "mint"), hex("Web3ChainV1", "burn")]).toEqual(["d87980", "d87a80"]);
    expect([hex("Web3ChainV2", "mint"), hex("Web3ChainV2", "burn")]).toEqual(["d87980", "d87b80"]);
  });

  it("has the policy whose hash its script has", () => {
    const policy = "186e32faa80a26810392fda6d559c7ed4721a65ce1c9d4ef3e1c87b4";
    expect(isPolicyScript(policy, "450101002499")).toBe(true);
    expect(isPolicyScript(policy, "450101002498")).toBe(false);
  });
});

/** What a script holds, spent with a redeemer that names it. */
function scriptInput(seed: number, coin: bigint, script: ScriptSource): ScriptInput {
  return {
    txHash: seed.toString(16).padStart(2, "0").repeat(32),
    index: seed % 4,
    value: new Map([["", coin]]),
    script,
    redeemer: new Uint8Array([0x18, seed | 0x80]),
    units: { memory: BigInt(seed) * 1_000n, steps: BigInt(seed) * 1_000_000n },
  };
}

describe("a transaction that spends from scripts", () => {
  const seeds = fc.uniqueArray(fc.integer({ min: 1, max: 120 }), { minLength: 1, maxLength: 6 });
  const attached: ScriptSource = { from: "witness", hash: "11".repeat(28), cbor: "450101002499" };
  const referred: ScriptSource = {
    from: "reference",
    hash: "22".repeat(28),
    output: { txHash: "33".repeat(32), index: 1 },
    size: 9_000,
  };

  it("gives each input its own redeemer, whatever the order, and conserves value", () => {
    fc.assert(
      fc.property(seeds, fc.boolean(), (numbers, isReferred) => {
        const script = isReferred ? referred : attached;
        const scriptInputs = numbers.map((n) => scriptInput(n, BigInt(n) * 1_000_000n, script));
        const outputs = [output(30_000_000n)];
        const { cbor, fee } = build(outputs, plan({ scriptInputs }));
        const tx = decodeTransaction(cbor);
        expect(tx.inputs.map(formatOutputReference)).toEqual(
          [...scriptInputs, ...outputs].map(formatOutputReference).sort(),
        );
        const redeemed = tx.spendRedeemers.map(({ inputIndex, data }) => [
          formatOutputReference(tx.inputs[inputIndex] as OutputReference),
          bytesToHex(data),
        ]);
        expect(new Map(redeemed as [string, string][])).toEqual(
          new Map(
            scriptInputs.map((one) => [formatOutputReference(one), bytesToHex(one.redeemer)]),
          ),
        );
        expect(tx.redeemerCount).toBe(numbers.length + 1);
        const given: Value = new Map([["", fee]]);
        for (const { funds } of tx.outputs) addValue(given, sumToValue(funds));
        const taken: Value = new Map([
          ["", 30_000_000n],
          [POLICY + NAME, 1n],
        ]);
        for (const { value } of scriptInputs) addValue(taken, value);
        expect([...given].sort()).toEqual([...taken].sort());
      }),
      { numRuns: 100 },
    );
  });

  it("is signed by its wallet, and leaves what is left of the collateral should a script fail", () => {
    const { cbor } = build([output(30_000_000n)], plan());
    const tx = decodeTransaction(cbor);
    expect(tx.signers).toEqual([keys.vkey]);
    const stake = (tx.fee * PROTOCOL_PARAMETERS.collateralPercent + 99n) / 100n;
    const left = { address: keys.address, funds: [{ unit: "", amount: 30_000_000n - stake }] };
    expect(tx.collateralReturn).toMatchObject(left);
    const { length } = tx.outputs;
    expect(outputAt(tx, 0)).toEqual(tx.outputs[0]);
    expect(outputAt(tx, length)).toBeNull();
    const failed = { ...tx, isValid: false };
    expect([outputAt(failed, 0), outputAt(failed, length)]).toEqual([null, tx.collateralReturn]);
  });

  it("is measured script by script, with a reserve on what each used", () => {
    const scriptInputs = [
      scriptInput(90, 5_000_000n, attached),
      scriptInput(7, 5_000_000n, attached),
    ];
    const planned = plan({ scriptInputs });
    // Its hash stands between those of the two.
    const wallet = { txHash: "20".repeat(32), index: 0, value: new Map([["", 30_000_000n]]) };
    const pay = createInputSelector(
      { address: keys.address, outputs: [wallet], mustSpend: [wallet], collateral: null },
      planned,
    );
    const draft = draftTransaction(planned, pay, 1);
    const used = { memory: 1000n, steps: 2000n };
    const more = { memory: 1150n, steps: 2300n };
    expect(draft.withMeasuredUnits(new Map([["spend:2", used]])).scriptInputs).toMatchObject([
      { units: more },
      { units: scriptInputs[1]?.units },
    ]);
    expect(draft.withMeasuredUnits(new Map([["spend:0", used]])).scriptInputs).toMatchObject([
      { units: scriptInputs[0]?.units },
      { units: more },
    ]);
    expect(draft.withMeasuredUnits(new Map([["mint:0", used]])).mints).toMatchObject([
      { units: more },
    ]);
  });
});
