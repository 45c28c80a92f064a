import { expect, it } from "vitest";
import { formatAddress } from "../../../src/chain/address.ts";
import type { EscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { computeMinimumCoin } from "../../../src/chain/transaction/select-inputs.ts";
import type { Escrow } from "../../../src/escrow/model/read-escrow.ts";
import {
  buildStepPart,
  type RequestedStep,
  type StepContext,
} from "../../../src/escrow/steps/build-step-part.ts";
import { PROTOCOL_PARAMETERS } from "../../support/protocol-parameters.ts";

const address = (byte: string) =>
  formatAddress({
    network: "Preprod",
    payment: { kind: "key", hash: byte.repeat(28) },
    stake: { kind: "key", hash: byte.repeat(28) },
  });
const [SELLER, BUYER, RECEIVER, ELSEWHERE] = ["11", "22", "33", "44"].map(address) as [
  string,
  string,
  string,
  string,
];
const TOKEN = `${"aa".repeat(28)}${"ff".repeat(32)}`;

function escrow(
  version: PaymentSourceType,
  value: [string, bigint][],
  datum: Partial<EscrowDatum> = {},
): Escrow {
  return {
    txHash: "ab".repeat(32),
    index: 1,
    value: new Map(value),
    datum: {
      version,
      buyer: BUYER,
      buyerVkey: "22".repeat(28),
      seller: SELLER,
      sellerVkey: "11".repeat(28),
      buyerReturnAddress: null,
      sellerReturnAddress: null,
      referenceKey: "a4",
      referenceSignature: "bb".repeat(64),
      sellerNonce: "cc".repeat(32),
      buyerNonce: "dd".repeat(10),
      agentIdentifier: "ee".repeat(60),
      collateralReturn: 0n,
      inputHash: "ff".repeat(32),
      resultHash: "aa".repeat(32),
      payByTime: 1n,
      submitResultTime: 2n,
      unlockTime: 3n,
      externalDisputeUnlockTime: 4n,
      sellerCooldownTime: 0n,
      buyerCooldownTime: 0n,
      state: "ResultSubmitted",
      ...datum,
    },
  };
}

function part(from: Escrow, taken: Partial<RequestedStep> = {}, means: Partial<StepContext> = {}) {
  const contract = {
    type: from.datum.version,
    address: formatAddress({
      network: "Preprod",
      payment: { kind: "script", hash: "55".repeat(28) },
      stake: null,
    }),
    cooldownTime: 420_000,
    feeRatePermille: 50,
    feeReceiverAddress: RECEIVER,
  };
  return buildStepPart(
    from,
    { step: "Withdraw", resultHash: null, ...taken },
    {
      contract,
      script: { from: "witness", hash: "55".repeat(28), cbor: "00" },
      wallet: { address: SELLER, vkey: "11".repeat(28) },
      payoutAddress: null,
      validTo: 1_800_000_000_000,
      parameters: PROTOCOL_PARAMETERS,
      ...means,
    },
  );
}

const tag = (of: Escrow) =>
  Buffer.from(
    Uint8Array.of(0xd8, 0x79, 0x9f, 0x58, 0x20, ...Buffer.from(of.txHash, "hex"), of.index, 0xff),
  ).toString("hex");
const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("hex");

it("a withdrawal pays a share of everything, and leaves the rest in the wallet's change", () => {
  const from = escrow("Web3ChainV1", [
    ["", 100_000_000n],
    [TOKEN, 41n],
  ]);
  const { outputs } = part(from);
  expect(outputs).toHaveLength(1);
  expect(outputs[0]).toMatchObject({ address: RECEIVER });
  expect(outputs[0]?.value).toEqual(
    new Map([
      ["", 5_000_000n],
      [TOKEN, 2n],
    ]),
  );
  expect(hex(outputs[0]?.datum)).toBe(tag(from));
});

it("a fee below the ledger's minimum is filled up, also with a long token name", () => {
  const from = escrow("Web3ChainV1", [
    ["", 5_000_000n],
    [TOKEN, 100n],
  ]);
  const [fee] = part(from).outputs;
  expect(fee?.value.get(TOKEN)).toBe(5n);
  expect(fee?.value.get("")).toBe(fee && computeMinimumCoin(fee, PROTOCOL_PARAMETERS));
  expect(fee?.value.get("")).toBeGreaterThan(1_435_230n);
});

it("a payout goes where the wallet collects, untagged, the datum's return address first", () => {
  const value: [string, bigint][] = [["", 50_000_000n]];
  const collected = part(escrow("Web3ChainV2", value), {}, { payoutAddress: ELSEWHERE });
  expect(collected.outputs).toEqual([{ address: ELSEWHERE, value: new Map(value) }]);
  const returned = escrow("Web3ChainV2", value, {
    sellerReturnAddress: ELSEWHERE,
    buyerReturnAddress: RECEIVER,
    collateralReturn: 4_000_000n,
  });
  const { outputs } = part(returned, {}, { payoutAddress: BUYER });
  expect(outputs.map(({ address, value, datum }) => [address, value.get(""), hex(datum)])).toEqual([
    [RECEIVER, 4_000_000n, tag(returned)],
    [ELSEWHERE, 46_000_000n, tag(returned)],
  ]);
});

it("the wallet adds native coin when the deposit is too small for an output with the result", () => {
  const from = escrow("Web3ChainV1", [["", 2_000_000n]], {
    state: "FundsLocked",
    resultHash: "",
  });
  const { outputs } = part(from, { step: "SubmitResult", resultHash: "ab".repeat(32) });
  const [next] = outputs;
  expect(next?.value.get("")).toBe(next && computeMinimumCoin(next, PROTOCOL_PARAMETERS));
});

it.each([
  ["of another key", escrow("Web3ChainV1", [["", 1n]], { sellerVkey: "99".repeat(28) }), {}, {}],
  ["out of another state", escrow("Web3ChainV1", [["", 1n]], { state: "Disputed" }), {}, {}],
  [
    "that a version does not have",
    escrow("Web3ChainV1", [["", 1n]]),
    { step: "AuthorizeWithdrawal" },
    {},
  ],
  ["without a result", escrow("Web3ChainV1", [["", 9n]]), { step: "SubmitResult" }, {}],
  [
    "with less than the collateral",
    escrow("Web3ChainV2", [["", 1n]], { collateralReturn: 2n }),
    {},
    {},
  ],
  [
    "whose fee goes nobody knows where",
    escrow("Web3ChainV1", [["", 100n]]),
    {},
    {
      contract: {
        type: "Web3ChainV1",
        address: SELLER,
        cooldownTime: 1,
        feeRatePermille: 50,
        feeReceiverAddress: null,
      },
    },
  ],
] as [string, Escrow, Partial<RequestedStep>, Partial<StepContext>][])(
  "there is no step %s",
  (_, from, taken, means) => {
    expect(() => part(from, taken, means)).toThrow(
      expect.objectContaining({ name: "StepImpossibleError" }),
    );
  },
);
