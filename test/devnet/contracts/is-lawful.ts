/**
 * The rules of docs/escrow-contract.md in plain TypeScript: which transactions the escrow contracts must
 * accept. The rules have the numbers of that document.
 */
import { toPlutusAddress } from "../../../src/chain/plutus/address.ts";
import type { PlutusData } from "../../../src/chain/plutus/data.ts";
import {
  type Action,
  amountsOf,
  covers,
  dataOf,
  endsBefore,
  hasLeft,
  hasResult,
  hasReturnAddress,
  holdsCollateral,
  isContinued,
  isSignedBy,
  paidTo,
  placeOf,
  signersOf,
  spentData,
  startsAt,
  stateOf,
} from "./action.ts";
import { areEqual, readDatum, readFields, STATES, textOf } from "./datum-fields.ts";
import type { Draft } from "./drafts.ts";
import { FEE_PERMILLE, FEE_RECEIVER } from "./escrows.ts";
import type { Spent } from "./evaluate-draft.ts";
import { administratorsOf, isSettled, REQUIRED } from "./is-settled.ts";

/** Whether every spend of a transaction obeys the rules. */
export function isLawful(draft: Draft): boolean {
  return draft.spends.every((_, i) => isLawfulSpend(draft, i));
}

function isLawfulSpend(draft: Draft, position: number): boolean {
  const { escrow, redeemer } = draft.spends[position] as Draft["spends"][number];
  const spent: Spent = escrow;
  const generation = escrow.deployment.type === "Web3ChainV1" ? 1 : 2;
  const before = readFields(spentData(spent), generation);
  if (!before || draft.to === null) return false;
  const hasDatum = draft.datums?.some((data) => areEqual(data, spentData(spent)));
  if (spent.isByHash && !hasDatum) return false;
  const contract = escrow.deployment.address;
  const ours = draft.outputs.filter(({ address }) => address === contract);
  if (ours.some(({ referenceScript }) => referenceScript !== undefined)) return false;
  const beside = draft.spends.filter(({ escrow: each }) => each.deployment.address === contract);
  if (generation === 1 && (beside.length !== 1 || ours.length > 1)) return false;
  const after = ours.map((output) => readDatum(dataOf(output), generation));
  if (generation === 2) {
    if (after.includes(null)) return false;
    const spentSignatures = beside.flatMap(({ escrow: each }) => {
      const { isByHash }: Spent = each;
      const fields = isByHash ? null : readDatum(spentData(each), 2);
      return fields ? [textOf(fields.referenceSignature as PlutusData)] : [];
    });
    const signatures = after.map((fields) => fields?.referenceSignature as Uint8Array);
    if (new Set(spentSignatures).size < spentSignatures.length) return false;
    if (new Set(signatures.map(textOf)).size < signatures.length) return false;
    if ((before.collateral as bigint) < 0n) return false;
    const all = [...signatures, before.referenceSignature as Uint8Array];
    if (all.some(({ length }) => length < 16)) return false;
  }
  const action = { draft, spent, generation, before, redeemer, ours, after } as const;
  const run = ACTIONS[redeemer.index];
  const hasFields = generation === 2 && redeemer.index === 4;
  if (!run || (!hasFields && redeemer.fields.length > 0)) return false;
  return run(action);
}

const ACTIONS: Record<number, (action: Action) => boolean> = {
  0: (action) => {
    const { before, generation, spent } = action;
    const state = stateOf(action);
    const isAuthorized = generation === 2 && state === "WithdrawAuthorized";
    if (!isSignedBy(action, "seller") || !hasResult(before)) return false;
    if (!isAuthorized && (state !== "ResultSubmitted" || !startsAt(action, before.unlock)))
      return false;
    if (!hasLeft(action) || !holdsCollateral(action)) return false;
    const collateral = before.collateral as bigint;
    const returned = paidTo(action, placeOf(action, "buyer"));
    if (!returned || (returned.get("") ?? 0n) < collateral) return false;
    const held = amountsOf(spent.funds);
    if (generation === 1) {
      const fee = [...held].map(([unit, amount]): [string, bigint] => [
        unit,
        (amount * FEE_PERMILLE) / 1000n,
      ]);
      return covers(paidTo(action, toPlutusAddress(FEE_RECEIVER.address)), new Map(fee));
    }
    if (!hasReturnAddress(before.sellerReturn))
      return hasReturnAddress(before.sellerReturn) === false;
    const due = new Map(held).set("", (held.get("") ?? 0n) - collateral);
    return covers(paidTo(action, placeOf(action, "seller")), due);
  },
  1: (action) =>
    isSignedBy(action, "buyer") &&
    ["FundsLocked", "ResultSubmitted", "Disputed"].includes(stateOf(action)) &&
    startsAt(action, action.before.buyerCooldown) &&
    endsBefore(action, action.before.unlock) &&
    isContinued(action, {
      by: "buyer",
      state: hasResult(action.before) ? "Disputed" : "RefundRequested",
      result: "kept",
    }),
  2: (action) => {
    const { generation, before } = action;
    const state = stateOf(action);
    if (!isSignedBy(action, "buyer") || !startsAt(action, before.buyerCooldown)) return false;
    if (generation === 2)
      return (
        state === "Disputed" &&
        hasResult(before) &&
        isContinued(action, { by: "buyer", state: "WithdrawAuthorized", result: "kept" })
      );
    return (
      ["RefundRequested", "Disputed"].includes(state) &&
      isContinued(action, {
        by: "buyer",
        state: hasResult(before) ? "ResultSubmitted" : "FundsLocked",
        result: "kept",
      })
    );
  },
  3: (action) => {
    const { generation, before, spent } = action;
    const state = stateOf(action);
    const isAuthorized = generation === 2 && state === "RefundAuthorized";
    if (!isSignedBy(action, "buyer") || hasResult(before)) return false;
    if (!isAuthorized) {
      if (!["FundsLocked", "RefundRequested"].includes(state)) return false;
      if (!startsAt(action, before.submitBy)) return false;
    }
    if (!hasLeft(action)) return false;
    if (generation === 1) return true;
    if (!hasReturnAddress(before.buyerReturn))
      return hasReturnAddress(before.buyerReturn) === false;
    return covers(paidTo(action, placeOf(action, "buyer")), amountsOf(spent.funds));
  },
  4: (action) => {
    const { before, generation, draft } = action;
    if (stateOf(action) !== "Disputed" || !hasResult(before)) return false;
    if (!startsAt(action, before.dispute)) return false;
    if (generation === 2) return hasLeft(action) && isSettled(action);
    const signers = signersOf(draft);
    return (
      administratorsOf(action.spent).filter(({ vkey }) => signers.includes(vkey)).length >= REQUIRED
    );
  },
  5: (action) => {
    const { generation, before } = action;
    const state = stateOf(action);
    if (!isSignedBy(action, "seller") || !holdsCollateral(action)) return false;
    if (generation === 2 && !STATES.slice(0, 4).includes(state)) return false;
    if (!startsAt(action, before.sellerCooldown)) return false;
    const isInTime =
      endsBefore(action, before.submitBy) ||
      (hasResult(before) && endsBefore(action, before.dispute));
    const isCalm = state === "FundsLocked" || state === "ResultSubmitted";
    return (
      isInTime &&
      isContinued(action, {
        by: "seller",
        state: isCalm ? "ResultSubmitted" : "Disputed",
        result: "given",
      })
    );
  },
  6: (action) => {
    const from = action.generation === 1 ? ["Disputed"] : STATES.slice(0, 4);
    return (
      isSignedBy(action, "seller") &&
      from.includes(stateOf(action)) &&
      startsAt(action, action.before.sellerCooldown) &&
      isContinued(action, {
        by: "seller",
        state: action.generation === 1 ? "RefundRequested" : "RefundAuthorized",
        result: "cleared",
      })
    );
  },
};
