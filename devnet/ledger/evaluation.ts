/** Running the scripts of a transaction without applying it. */
import { encodeArray, encodeMap, readCbor } from "../../src/chain/cbor.ts";
import { cut, expectNode, fieldsOf, itemsOf } from "./cbor-fields.ts";
import { type Evaluation, evaluateScripts, type RawUtxo } from "./emulator.ts";
import { LedgerRejection } from "./rejection.ts";
import {
  type LedgerRedeemer,
  type LedgerTransaction,
  type OutputReference,
  outputKey,
} from "./transaction.ts";

/** A transaction names outputs that the evaluating node does not have. */
export class UnknownInputs extends Error {
  override name = "UnknownInputs";
  readonly inputs: readonly OutputReference[];

  constructor(inputs: readonly OutputReference[]) {
    super(`Unknown transaction input (missing from UTxO set): ${inputs.map(outputKey).join(", ")}`);
    this.inputs = inputs;
  }
}

/** Scripts that fail, each with the reason, by the redeemer that runs it (`spend:0`). */
export class ScriptsFailed extends LedgerRejection {
  override name = "ScriptsFailed";
  readonly reasons: ReadonlyMap<string, string>;

  constructor(reasons: ReadonlyMap<string, string>) {
    super("PlutusFailure", [...reasons].map(([name, reason]) => `${name}: ${reason}`).join("\n"));
    this.reasons = reasons;
  }
}

/**
 * Runs the scripts of a transaction, signed or not.
 *
 * @param find - the output that a reference names, CBOR, as far as the evaluating node has it
 * @throws UnknownInputs, ScriptsFailed
 */
export function evaluate(
  tx: LedgerTransaction,
  find: (reference: OutputReference) => Uint8Array | undefined,
): Evaluation[] {
  const named = [...tx.inputs, ...tx.referenceInputs, ...tx.collateral];
  const byKey = new Map(named.map((reference) => [outputKey(reference), reference]));
  const utxos: RawUtxo[] = [];
  const unknown: OutputReference[] = [];
  for (const reference of byKey.values()) {
    const cbor = find(reference);
    if (cbor) utxos.push({ ...reference, cbor });
    else unknown.push(reference);
  }
  if (unknown.length > 0) throw new UnknownInputs(unknown);
  try {
    return evaluateScripts(tx.cbor, utxos);
  } catch (error) {
    if (!(error instanceof LedgerRejection)) throw error;
    throw new ScriptsFailed(failuresOf(tx, utxos, error));
  }
}

/**
 * Which scripts fail. The emulator stops at the first and does not say which one it was, so each
 * runs once more alone. A script that fails only in company is not told apart: all are named.
 */
function failuresOf(
  tx: LedgerTransaction,
  utxos: readonly RawUtxo[],
  inCompany: LedgerRejection,
): Map<string, string> {
  const failures = new Map<string, string>();
  for (const redeemer of tx.redeemers) {
    try {
      evaluateScripts(withOneRedeemer(tx, redeemer), utxos);
    } catch (error) {
      if (!(error instanceof LedgerRejection)) throw error;
      failures.set(nameOf(redeemer), error.message);
    }
  }
  if (failures.size > 0) return failures;
  return new Map(tx.redeemers.map((redeemer) => [nameOf(redeemer), inCompany.message]));
}

function nameOf({ purpose, index }: LedgerRedeemer): string {
  return `${purpose}:${index}`;
}

const REDEEMERS = 5;

/** The transaction with that redeemer alone in its witnesses. */
function withOneRedeemer({ cbor, redeemers }: LedgerTransaction, kept: LedgerRedeemer): Uint8Array {
  const [body, witnesses, ...rest] = itemsOf(readCbor(cbor));
  if (!body || !witnesses) throw new RangeError("A transaction has a body and witnesses");
  const item = fieldsOf(witnesses).get(REDEEMERS);
  const position = redeemers.indexOf(kept);
  const one =
    item?.kind === "map"
      ? encodeMap(
          item.entries
            .slice(position, position + 1)
            .map(([key, value]) => [cut(cbor, key), cut(cbor, value)]),
        )
      : encodeArray(
          itemsOf(item)
            .slice(position, position + 1)
            .map((row) => cut(cbor, row)),
        );
  const others = expectNode(witnesses, "map").entries.map(
    ([key, value]) => [cut(cbor, key), value === item ? one : cut(cbor, value)] as const,
  );
  return encodeArray([cut(cbor, body), encodeMap(others), ...rest.map((part) => cut(cbor, part))]);
}
