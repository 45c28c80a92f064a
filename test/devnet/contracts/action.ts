/** A spend of an escrow, and what rules check: signers, times, payments and the continuing output. */

import { bytesToHex } from "../../../src/chain/hex.ts";
import { toPlutusAddress } from "../../../src/chain/plutus/address.ts";
import type { Constr, PlutusData } from "../../../src/chain/plutus/data.ts";
import {
  areEqual,
  type Fields,
  isBytes,
  isConstr,
  isInt,
  namesOf,
  STATES,
} from "./datum-fields.ts";
import { type Draft, type DraftOutput, datumData } from "./drafts.ts";
import { COOLDOWN, timeAt } from "./escrows.ts";
import type { Spent } from "./evaluate-draft.ts";
import { referenceOf } from "./settlements.ts";

export const dataOf = ({ datum, next, byHash }: DraftOutput): PlutusData | undefined =>
  byHash ? undefined : (datum ?? (next && datumData(next)));
export const spentData = ({ data, datum }: Spent): PlutusData => data ?? datumData(datum);

export const amountsOf = (funds: readonly { unit: string; amount: bigint }[]) => {
  const sums = new Map<string, bigint>();
  for (const { unit, amount } of funds) sums.set(unit, (sums.get(unit) ?? 0n) + amount);
  for (const [unit, amount] of sums) if (amount === 0n) sums.delete(unit);
  return sums;
};
export type Amounts = Map<string, bigint>;
export const covers = (paid: Amounts | null, due: Amounts): boolean =>
  paid !== null && [...due].every(([unit, amount]) => (paid.get(unit) ?? 0n) >= amount);

export interface Action {
  draft: Draft;
  spent: Spent;
  generation: 1 | 2;
  before: Fields;
  redeemer: Constr;
  ours: DraftOutput[];
  after: (Fields | null)[];
}

const time = (seconds: number) => BigInt(timeAt(seconds));
export const startsAt = ({ draft: { from } }: Action, moment: PlutusData | undefined) =>
  from !== null && time(from) >= (moment as bigint);
export const endsBefore = ({ draft: { to } }: Action, moment: PlutusData | undefined) =>
  to !== null && time(to) < (moment as bigint);
export const stateOf = ({ before: { state } }: Action): string =>
  isConstr(state) && state.fields.length === 0 ? (STATES[state.index] ?? "") : "";
export const hasResult = (fields: Fields) => (fields.result as Uint8Array).length > 0;
export const signersOf = ({ payer, coSigners, requiredSigners }: Draft) =>
  requiredSigners ?? [payer, ...coSigners].map(({ vkey }) => vkey);

export function isSignedBy({ draft, before }: Action, party: "buyer" | "seller"): boolean {
  const address = before[party];
  const credential = isConstr(address) ? address.fields[0] : undefined;
  if (!isConstr(credential) || credential.index !== 0) return false;
  const [key] = credential.fields;
  return isBytes(key) && signersOf(draft).includes(bytesToHex(key));
}

/** An address in a datum; null if it cannot be read. */
type Place = PlutusData | null;

/**
 * What outputs with the tag of the spent output pay to an address.
 *
 * @returns null if the address cannot be read and an output has a tag
 */
export function paidTo({ draft, spent }: Action, place: Place): Amounts | null {
  const tag = referenceOf(spent);
  const tagged = draft.outputs.filter((output) => isReference(dataOf(output)));
  if (place === null) return tagged.length > 0 ? null : new Map();
  const paying = tagged.filter(
    (output) =>
      areEqual(dataOf(output) as PlutusData, tag) &&
      areEqual(toPlutusAddress(output.address), place),
  );
  return amountsOf(paying.flatMap(({ funds }) => funds));
}

const isReference = (data: PlutusData | undefined): boolean =>
  isConstr(data) &&
  data.index === 0 &&
  data.fields.length === 2 &&
  isBytes(data.fields[0]) &&
  isInt(data.fields[1]);

/** Whether an option has a return address; null if it cannot be read. */
export const hasReturnAddress = (option: PlutusData | undefined): boolean | null =>
  isConstr(option) ? option.index === 0 : null;

/** The return address, or the party's own. */
export function placeOf({ generation, before }: Action, party: "buyer" | "seller"): Place {
  const own = before[party] as PlutusData;
  if (generation === 1) return own;
  const option = before[`${party}Return`];
  if (!isConstr(option)) return null;
  return option.index === 0 ? (option.fields[0] ?? null) : own;
}

/** Rule 25: no output continues the escrow. */
export const hasLeft = ({ generation, before, after }: Action) =>
  generation === 1 ||
  after.every(
    (fields) =>
      !areEqual(fields?.referenceSignature as PlutusData, before.referenceSignature as PlutusData),
  );

interface Next {
  by: "seller" | "buyer";
  state: string;
  result: "kept" | "cleared" | "given";
}

/** Whether an output continues the escrow by rules 15 to 21. */
export function isContinued(action: Action, { by, state, result }: Next): boolean {
  const { generation, before, ours, after, spent, draft } = action;
  const place =
    generation === 1
      ? 0
      : after.findIndex((fields) =>
          areEqual(
            fields?.referenceSignature as PlutusData,
            before.referenceSignature as PlutusData,
          ),
        );
  const output = ours[place];
  const next = after[place];
  if (!output || !next) return false;
  const held = amountsOf(spent.funds);
  const holds = amountsOf(output.funds);
  const tokens = (amounts: Amounts) =>
    [...amounts]
      .filter(([unit]) => unit !== "")
      .sort()
      .join();
  if ((holds.get("") ?? 0n) < (held.get("") ?? 0n) || tokens(holds) !== tokens(held)) return false;
  const [own, other] =
    by === "seller" ? ["sellerCooldown", "buyerCooldown"] : ["buyerCooldown", "sellerCooldown"];
  if ((next[own as string] as bigint) < time(draft.to ?? 0) + BigInt(COOLDOWN)) return false;
  if (next[other as string] !== 0n) return false;
  if ((next.state as Constr).index !== STATES.indexOf(state)) return false;
  const isRight = {
    kept: areEqual(next.result as PlutusData, before.result as PlutusData),
    cleared: !hasResult(next),
    given: hasResult(next),
  };
  if (!isRight[result]) return false;
  const changing = ["sellerCooldown", "buyerCooldown", "state", "result"];
  return namesOf(generation).every(
    (name) =>
      changing.includes(name) || areEqual(next[name] as PlutusData, before[name] as PlutusData),
  );
}

const coinsOf = ({ spent }: Action) => amountsOf(spent.funds).get("") ?? 0n;
export const holdsCollateral = (action: Action) =>
  action.generation === 1 || coinsOf(action) >= (action.before.collateral as bigint);
