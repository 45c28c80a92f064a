import { blake2b } from "@noble/hashes/blake2.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesToHex } from "../../src/chain/hex.ts";
import { keysFromMnemonic } from "../../src/chain/keys.ts";
import type { Metadatum } from "../../src/chain/metadata.ts";
import type { ProtocolParameters } from "../../src/chain/provider.ts";
import {
  isPolicyScript,
  registryAssetName,
  registryRedeemer,
} from "../../src/chain/registry-token.ts";
import { decodeTransaction } from "../../src/chain/transaction.ts";
import { sumOf } from "../../src/chain/value.ts";
import {
  minimumCoin,
  outputName,
  type WalletOutput,
  WalletShort,
  walletOutputs,
} from "../../src/chain/wallet-selection.ts";
import {
  buildMint,
  type MintPlan,
  TransactionTooLarge,
} from "../../src/chain/wallet-transaction.ts";

const PARAMETERS: ProtocolParameters = {
  feePerByte: 44n,
  feeConstant: 155_381n,
  priceMemory: "0.0577",
  priceSteps: "0.0000721",
  collateralPercent: 150n,
  coinsPerByte: 4310n,
  maxTransactionSize: 16_384,
  plutusV3Costs: Array.from({ length: 297 }, (_, i) => BigInt(i)),
};
const UNITS = { memory: 500n, steps: 64_100n };
/** Fee of `UNITS`: 28.85 and 4.62161, together rounded up. */
const UNITS_FEE = 34n;
const POLICY = "ab".repeat(28);
const NAME = "cd".repeat(32);
const OTHER_TOKEN = `${"ee".repeat(28)}01`;
const keys = await keysFromMnemonic(`${"test ".repeat(23)}sauce`, "Preprod");

let made = 0;
/** An output of the wallet, of these minor units and perhaps a token. */
function output(coin: bigint, unit?: string): WalletOutput {
  const txHash = (++made).toString(16).padStart(64, "0");
  const funds = [{ unit: "", amount: coin }, ...(unit ? [{ unit, amount: 1n }] : [])];
  return { txHash, index: made % 3, value: sumOf(funds) };
}

function plan(outputs: WalletOutput[], overrides: Partial<MintPlan> = {}): MintPlan {
  return {
    keys,
    outputs,
    mustSpend: outputs.slice(0, 1),
    mint: {
      policyId: POLICY,
      assetName: NAME,
      quantity: 1n,
      redeemer: registryRedeemer("Web3ChainV1", "mint"),
      scriptCbor: "450101002499",
    },
    payments: [
      {
        address: keys.address,
        value: sumOf([
          { unit: "", amount: 5_000_000n },
          { unit: POLICY + NAME, amount: 1n },
        ]),
      },
    ],
    metadata: new Map<bigint, Metadatum>([[674n, new Map([["msg", ["a"]]])]]),
    validity: { from: 100, to: 700 },
    parameters: PARAMETERS,
    ...overrides,
  };
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
        const built = buildMint(plan(outputs, { metadata }), UNITS);
        const tx = decodeTransaction(built.cbor);
        expect(tx.hash).toBe(built.hash);
        expect(tx.fee).toBe(built.fee);

        const spent = tx.inputs.map((input) =>
          outputs.find((one) => outputName(one) === outputName(input)),
        );
        expect(spent).toContain(outputs[0]);
        const taken = sumOf(
          ...spent.map((one) =>
            [...(one?.value ?? [])].map(([unit, amount]) => ({ unit, amount })),
          ),
          tx.mint.map(({ policyId, assetName, quantity }) => ({
            unit: policyId + assetName,
            amount: quantity,
          })),
        );
        const given = sumOf(...tx.outputs.map(({ funds }) => funds), [
          { unit: "", amount: tx.fee },
        ]);
        expect([...taken].sort()).toEqual([...given].sort());

        const needed = 155_381n + 44n * BigInt(built.cbor.length) + UNITS_FEE;
        expect(tx.fee).toBeGreaterThanOrEqual(needed);
        // Beyond the exact fee at most what the encoding of the amounts may shrink by.
        expect(tx.fee - needed).toBeLessThanOrEqual(44n * 16n);
        for (const { address, funds } of tx.outputs) {
          const value = sumOf(funds);
          expect(value.get("")).toBeGreaterThanOrEqual(minimumCoin(address, value, PARAMETERS));
        }
      }),
      { numRuns: 100 },
    );
  });

  it("is the same for the same plan", () => {
    const outputs = [output(20_000_000n)];
    expect(buildMint(plan(outputs), UNITS)).toEqual(buildMint(plan(outputs), UNITS));
  });

  it.each([
    ["nothing", [], /lacks \d+ minor units/],
    ["too little", [6_000_000n], /lacks \d+ minor units/],
  ])("of a wallet with %s says how much is missing", (_, coins, message) => {
    const outputs = coins.map((coin) => output(coin));
    expect(() => buildMint(plan(outputs), UNITS)).toThrow(WalletShort);
    expect(() => buildMint(plan(outputs), UNITS)).toThrow(message);
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
    expect(walletOutputs([row, scripted])).toEqual([
      { txHash: row.txHash, index: 1, value: new Map([["", 5n]]) },
    ]);
  });

  it("burns only what the wallet holds", () => {
    const outputs = [output(20_000_000n)];
    const burn = plan(outputs, { payments: [] });
    burn.mint.quantity = -1n;
    expect(() => buildMint(burn, UNITS)).toThrow("does not hold the token");
    const held = [output(5_000_000n, POLICY + NAME), output(20_000_000n)];
    const burning = plan(held, { payments: [], mint: burn.mint });
    const tx = decodeTransaction(buildMint(burning, UNITS).cbor);
    expect(tx.mint).toEqual([{ policyId: POLICY, assetName: NAME, quantity: -1n }]);
    expect(tx.outputs.flatMap(({ funds }) => funds.map(({ unit }) => unit))).toEqual([""]);
  });

  it("that is larger than the ledger allows is refused", () => {
    const metadata = new Map<bigint, Metadatum>([[674n, Array(300).fill("x".repeat(60))]]);
    const outputs = [output(20_000_000n)];
    expect(() => buildMint(plan(outputs, { metadata }), UNITS)).toThrow(TransactionTooLarge);
  });
});

describe("a registry token", () => {
  const seed = { txHash: "01".repeat(32), index: 258 };
  const source = Uint8Array.from([...Array(32).fill(1), 0, 0, 1, 2]);

  it("of generation 1 is named by the hash of the output that is spent", () => {
    expect(registryAssetName("Web3ChainV1", seed)).toBe(bytesToHex(blake2b(source, { dkLen: 32 })));
  });

  it("of generation 2 is named by nonce, hash and version", () => {
    const root = bytesToHex(blake2b(source, { dkLen: 28 }));
    expect(registryAssetName("Web3ChainV2", seed)).toBe(`10${root}000000`);
  });

  it("is minted and burned with the redeemers of its generation", () => {
    const hex = (type: "Web3ChainV1" | "Web3ChainV2", does: "mint" | "burn") =>
      bytesToHex(registryRedeemer(type, does));
    expect([hex("Web3ChainV1", "mint"), hex("Web3ChainV1", "burn")]).toEqual(["d87980", "d87a80"]);
    expect([hex("Web3ChainV2", "mint"), hex("Web3ChainV2", "burn")]).toEqual(["d87980", "d87b80"]);
  });

  it("has the policy whose hash its script has", () => {
    const policy = "186e32faa80a26810392fda6d559c7ed4721a65ce1c9d4ef3e1c87b4";
    expect(isPolicyScript(policy, "450101002499")).toBe(true);
    expect(isPolicyScript(policy, "450101002498")).toBe(false);
  });
});
