/** Lives of escrows that the service locks and moves, on the local chain's ledger and with its contracts. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTransaction } from "../../../devnet/ledger/transaction.ts";
import { toBlockchainIdentifier } from "../../../src/chain/contracts/blockchain-identifier.ts";
import { decodeEscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { computeMinimumCoin } from "../../../src/chain/transaction/select-inputs.ts";
import type { ContractSettings } from "../../../src/escrow/model/build-payouts.ts";
import type { EscrowRecord, Party } from "../../../src/escrow/model/escrow-record.ts";
import { STEPS, type Step } from "../../../src/escrow/model/intent.ts";
import { type Escrow, readEscrow } from "../../../src/escrow/model/read-escrow.ts";
import { ruleOf } from "../../../src/escrow/model/step-rules.ts";
import { windowOf } from "../../../src/escrow/model/windows.ts";
import { buildStepPart } from "../../../src/escrow/steps/build-step-part.ts";
import { findMismatches } from "../../../src/escrow/sync/find-mismatches.ts";
import { buildLockPart, type Purchase } from "../../../src/escrow/terms/build-lock-part.ts";
import type { TransactionPart } from "../../../src/wallets/queue/feature.ts";
import { runs } from "../../support/effort.ts";
import { makeRecord } from "../../support/sources/records.ts";
import { judge } from "./cases.ts";
import { composed, PARAMETERS, type Time } from "./composing.ts";
import { draft, type OperatorAction } from "./drafts.ts";
import {
  BUYER,
  COOLDOWN,
  DISPUTE,
  datumOf,
  deploymentOf,
  FEE_PERMILLE,
  FEE_RECEIVER,
  type Order,
  SELLER,
  STRANGER,
  SUBMIT_BY,
  timeAt,
  UNLOCK,
} from "./escrows.ts";
import { brokenRule } from "./oracle.ts";
import { openStage, type Stage, TOKENS } from "./stage.ts";

const TYPES = ["Web3ChainV1", "Web3ChainV2"] as const;
const PARTIES = { seller: SELLER, buyer: BUYER };

/** A step's name in the tests of the contracts. */
const ACT_OF: Partial<Record<Step, OperatorAction>> = {
  SubmitResult: "submitResult",
  SetRefundRequested: "requestRefund",
  UnSetRefundRequested: "redeemer2",
  AuthorizeWithdrawal: "redeemer2",
  AuthorizeRefund: "authorizeRefund",
  Withdraw: "withdraw",
  WithdrawRefund: "withdrawRefund",
};

function contractOf(type: PaymentSourceType): ContractSettings {
  return {
    type,
    address: deploymentOf(type).address,
    cooldownTime: COOLDOWN,
    feeRatePermille: Number(FEE_PERMILLE),
    feeReceiverAddress: FEE_RECEIVER.address,
  };
}

/** The purchase of an order: its terms without the collateral, which the lock computes. */
function purchaseOf(type: PaymentSourceType, order: Order, position = 0): EscrowRecord {
  const datum = datumOf(type, order, position);
  const { address } = deploymentOf(type);
  const { price = 100_000_000n, tokens = 0n } = order;
  const funds = [
    { unit: "", amount: String(price) },
    { unit: TOKENS[0], amount: String(tokens) },
  ];
  return makeRecord("purchase", {
    sourceType: type,
    contractAddress: address,
    blockchainIdentifier: toBlockchainIdentifier(datum, address),
    terms: {
      isRequested: true,
      agentIdentifier: datum.agentIdentifier ?? "",
      pricingType: "Dynamic",
      inputHash: datum.inputHash,
      payByTime: String(datum.payByTime),
      submitResultTime: String(datum.submitResultTime),
      unlockTime: String(datum.unlockTime),
      externalDisputeUnlockTime: String(datum.externalDisputeUnlockTime),
      collateralReturn: null,
      buyer: null,
      buyerVkey: null,
      seller: datum.seller,
      sellerVkey: datum.sellerVkey,
      buyerReturnAddress: datum.buyerReturnAddress,
      sellerReturnAddress: datum.sellerReturnAddress,
      funds: funds.filter(({ amount }) => amount !== "0"),
    },
  });
}

/** The parts of an escrow's record that windows depend on. */
function recordOf({ datum }: Escrow): EscrowRecord {
  const record = makeRecord("payment", { sourceType: datum.version });
  const { terms, state } = record;
  return {
    ...record,
    terms: {
      ...terms,
      payByTime: String(datum.payByTime),
      submitResultTime: String(datum.submitResultTime),
      unlockTime: String(datum.unlockTime),
      externalDisputeUnlockTime: String(datum.externalDisputeUnlockTime),
    },
    state: {
      ...state,
      onChainState: datum.state,
      sellerCooldown: String(datum.sellerCooldownTime),
      buyerCooldown: String(datum.buyerCooldownTime),
    },
  };
}

/** Escrows on a ledger. */
interface WalletModel {
  stage: Stage;
  escrows: Escrow[];
}

/** Builds a transaction of parts, which the ledger must accept. */
async function play(
  stage: Stage,
  parts: readonly TransactionPart[],
  by: Party,
  time: Time,
  type: PaymentSourceType,
): Promise<WalletModel & { cbor: Uint8Array; count: number }> {
  const { address } = deploymentOf(type);
  const { cbor, count } = await composed(stage, parts, PARTIES[by], time, address);
  let after = stage;
  const submit = () => {
    after = stage.after(cbor, timeAt(time.from));
    return after;
  };
  expect(judge(submit)).toBe("accepted");
  const { hash } = readTransaction(cbor);
  const made = after.utxosAt(address).filter(({ txHash }) => txHash === hash);
  const escrows = made.map(({ txHash, index, amount, inlineDatum }) =>
    readEscrow(
      {
        utxo: `${txHash}#${index}`,
        value: amount.map(({ unit, quantity }) => ({
          unit: unit === "lovelace" ? "" : unit,
          amount: String(quantity),
        })),
        datum: inlineDatum ?? "",
      },
      { sourceType: type, network: "Preprod", contractAddress: address },
    ),
  );
  return { stage: after, escrows, cbor, count };
}

const lockTime: Time = { from: 0, to: 300 };

function lock(type: PaymentSourceType, purchases: readonly Purchase[]) {
  const parts = purchases.map((one) => buildLockPart(one, BUYER, PARAMETERS));
  return play(openStage(), parts, "buyer", lockTime, type);
}

interface Taken {
  step: Step;
  resultHash: string;
  payoutAddress: string | null;
}

/** The part of a step in a transaction of that time. */
function partOf(escrow: Escrow, { step, resultHash, payoutAddress }: Taken, { to }: Time) {
  const { version } = escrow.datum;
  const by = ruleOf(step, version)?.signer ?? "buyer";
  const { hash, cbor } = deploymentOf(version).escrow;
  const part = buildStepPart(
    escrow,
    { step, resultHash: step === "SubmitResult" ? resultHash : null },
    {
      contract: contractOf(version),
      script: { from: "witness", hash, cbor },
      wallet: PARTIES[by],
      payoutAddress,
      validTo: timeAt(to),
      parameters: PARAMETERS,
    },
  );
  return { part, by };
}

/** The steps that the table of the contract's rules allows at a time. */
function allowedSteps({ datum }: Escrow, { from, to }: Time): Step[] {
  return STEPS.filter((step) => {
    const act = ACT_OF[step];
    const rule = ruleOf(step, datum.version);
    if (act === undefined || rule === undefined) return false;
    const attempt = { signer: rule.signer, from: timeAt(from), to: timeAt(to) };
    return brokenRule(datum, act, attempt) === null;
  });
}

function isInWindow(escrow: Escrow, step: Step, { from, to }: Time): boolean {
  const window = windowOf(recordOf(escrow), step);
  if (window === null) return false;
  const { notBefore, deadline } = window;
  return timeAt(from) >= (notBefore ?? 0) && (deadline === null || timeAt(to) < deadline);
}

const aHash = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString("hex"));
const payoutAddress = fc.constantFrom(null, STRANGER.address);
const order = fc.record<Order>({
  price: fc.oneof(
    fc.bigInt({ min: 0n, max: 6_000_000n }),
    fc.bigInt({ min: 6_000_000n, max: 10n ** 9n }),
  ),
  tokens: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 1_000n })),
  returns: fc.boolean(),
});
const time = fc.record({
  wait: fc.oneof(fc.integer({ min: 0, max: 1_800 }), fc.integer({ min: 0, max: 4 * 3_600 })),
  length: fc.integer({ min: 1, max: 600 }),
});

describe.each(TYPES)("%s", (type) => {
  it("takes every step of a life that the service makes, from the lock on", async () => {
    const step = fc.record({ choice: fc.nat(), time, resultHash: aHash, payoutAddress });
    await fc.assert(
      fc.asyncProperty(order, fc.array(step, { minLength: 1, maxLength: 6 }), async (of, steps) => {
        let { stage, escrows } = await lock(type, [purchaseOf(type, of)]);
        let now = lockTime.to;
        for (const { choice, time: when, ...taken } of steps) {
          const [escrow] = escrows;
          if (!escrow) return;
          const at: Time = { from: now + when.wait, to: now + when.wait + when.length };
          const allowed = allowedSteps(escrow, at);
          const ours = STEPS.filter((one) => isInWindow(escrow, one, at));
          expect(ours).toEqual(allowed);
          now = at.from;
          const chosen = allowed[choice % allowed.length];
          if (chosen === undefined) continue;
          const { part, by } = partOf(escrow, { step: chosen, ...taken }, at);
          ({ stage, escrows } = await play(stage, [part], by, at, type));
        }
      }),
      runs(8, 1_000),
    );
  });

  it("is locked with what was agreed, and enough for every later datum", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(order, { minLength: 1, maxLength: 20 }), async (orders) => {
        const purchases = orders.map((of, i) => purchaseOf(type, of, i));
        const { escrows, count, cbor } = await lock(type, purchases);
        expect(escrows.length).toBe(count);
        const { produced } = readTransaction(cbor);
        for (const [i, escrow] of escrows.entries()) {
          const { datum, value } = escrow;
          const held = [...value].map(([unit, amount]) => ({ unit, amount }));
          const output = { funds: held } as Parameters<typeof findMismatches>[1]["output"];
          const purchase = purchases[i];
          if (!purchase) throw new Error("more was locked than bought");
          expect(findMismatches(purchase, { datum, output })).toEqual([]);
          expect(datum.collateralReturn === 0n || datum.collateralReturn >= 1_435_230n).toBe(true);
          const at = { from: 400, to: 400 + 3_000 };
          const taken = { step: "SubmitResult", resultHash: "ab".repeat(32) } as const;
          const { part } = partOf(escrow, { ...taken, payoutAddress: null }, at);
          expect(part.outputs[0]?.value).toEqual(value);
          expect(produced.length).toBeGreaterThan(i);
        }
      }),
      runs(4, 300),
    );
  });
});

/** A life with each step of a version once, and the earliest time of each. */
const ESCROW_STORIES: Record<PaymentSourceType, (readonly [Step, number])[][]> = {
  Web3ChainV1: [
    [
      ["SetRefundRequested", 900],
      ["UnSetRefundRequested", 1_800],
      ["SubmitResult", 2_700],
      ["SetRefundRequested", 3_600],
      ["AuthorizeRefund", 4_500],
      ["WithdrawRefund", 5_400],
    ],
    [
      ["SubmitResult", 900],
      ["SubmitResult", 1_800],
      ["Withdraw", UNLOCK],
    ],
  ],
  Web3ChainV2: [
    [
      ["SetRefundRequested", 900],
      ["SubmitResult", 1_800],
      ["AuthorizeWithdrawal", 2_700],
      ["Withdraw", 3_600],
    ],
    [
      ["SubmitResult", 900],
      ["AuthorizeRefund", 1_800],
      ["WithdrawRefund", 1_900],
    ],
    [["WithdrawRefund", SUBMIT_BY]],
    [
      ["SubmitResult", 900],
      ["Withdraw", DISPUTE],
    ],
  ],
};

describe("a step is the same as in a draft of the contracts' tests", () => {
  const lives = TYPES.flatMap((type) =>
    ESCROW_STORIES[type].map((life) => ({
      type,
      life,
      steps: life.map(([step]) => step).join(", "),
    })),
  );

  it.each(lives)("$type: $steps", async ({ type, life }) => {
    const of: Order = { price: 3_000_000n, tokens: 7n, returns: true };
    let { stage, escrows } = await lock(type, [purchaseOf(type, of)]);
    for (const [step, from] of life) {
      const at: Time = { from, to: from + 300 };
      const [escrow] = escrows;
      const act = ACT_OF[step];
      if (!escrow || !act) throw new Error("the life is over");
      const resultHash = bytesToHex(new Uint8Array(32).fill(from % 256));
      const { part, by } = partOf(escrow, { step, resultHash, payoutAddress: null }, at);
      const deployment = deploymentOf(type);
      const funds = [...escrow.value].map(([unit, amount]) => ({ unit, amount }));
      const told = draft([{ escrow: { ...escrow, deployment, funds }, act }], 0, {
        ...at,
        resultHash,
      });
      const next = told.outputs.find(({ role }) => role === "escrow")?.next;
      const made = part.outputs.find(({ address }) => address === deployment.address);
      const decoded = decodeEscrowDatum(made?.datum ?? new Uint8Array(), {
        version: type,
        network: "Preprod",
        contractAddress: deployment.address,
      });
      expect(decoded.ok ? decoded.datum : undefined).toEqual(next);
      const paid = told.outputs.filter(({ role }) => role === "fee" || role === "collateral");
      for (const { address, funds: least } of paid) {
        const output = part.outputs.find((one) => one.address === address);
        for (const { unit, amount } of least)
          expect(output?.value.get(unit) ?? 0n).toBeGreaterThanOrEqual(amount);
        const coin = output?.value.get("") ?? 0n;
        expect(output && coin >= computeMinimumCoin(output, PARAMETERS)).toBe(true);
      }
      expect(part.scriptInputs.map(({ redeemer }) => bytesToHex(redeemer))).toEqual(
        told.spends.map(({ redeemer }) => `d8${(0x79 + redeemer.index).toString(16)}80`),
      );
      ({ stage, escrows } = await play(stage, [part], by, at, type));
    }
  });
});
