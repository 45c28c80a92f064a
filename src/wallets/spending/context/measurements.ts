/**
 * Script units that a node has measured, for later transactions of the same shape.
 *
 * A script's cost depends on its datum, its redeemer and the transaction. The ledger prices operations by
 * the sizes of their arguments, not by their bytes. So two transactions cost the same if they run the same
 * scripts and redeemers on datums of the same state and sizes. Inputs and outputs must agree in number,
 * kind, address and unit. The 15 % reserve of every measurement covers the order of bytes within values.
 *
 * A wrong estimate loses no collateral. The first node runs the scripts itself, and refuses a transaction
 * that exceeds its units (`ValidationTagMismatch`). The wallet then measures it again.
 */
import type { ExecutionUnits, ProtocolParameters } from "../../../chain/provider/provider.ts";
import { listInputs } from "../../../chain/transaction/encode.ts";
import {
  formatOutputReference,
  type InputSelection,
  type TransactionPlan,
} from "../../../chain/transaction/transaction-plan.ts";
import type { Value } from "../../../chain/transaction/value.ts";

/** By purpose and index, as a node names what runs a script. */
type MeasuredUnits = ReadonlyMap<string, ExecutionUnits>;

/** More shapes than a wallet's steps have in a day. */
const MAX_MEASUREMENTS = 500;

export class Measurements {
  readonly #unitsByShape = new Map<string, MeasuredUnits>();
  /** The prices of operations by which it was measured. */
  #costModel = "";

  /** What was used in a transaction of a shape, by the same prices of operations. */
  find(shape: string, { plutusV3Costs }: ProtocolParameters): MeasuredUnits | null {
    const costs = plutusV3Costs.join();
    if (costs !== this.#costModel) this.clear();
    this.#costModel = costs;
    return this.#unitsByShape.get(shape) ?? null;
  }

  save(shape: string, used: MeasuredUnits): void {
    if (this.#unitsByShape.size >= MAX_MEASUREMENTS) this.clear();
    this.#unitsByShape.set(shape, used);
  }

  /** A node did not agree. */
  clear(): void {
    this.#unitsByShape.clear();
  }
}

/** All of a transaction on which it depends what its scripts use; null: it is not known of each of them. */
export function computeShape(plan: TransactionPlan, payment: InputSelection): string | null {
  const scripts = new Map(plan.scriptInputs.map((one) => [formatOutputReference(one), one]));
  if (plan.mints.length > 0 || plan.scriptInputs.some(({ shape }) => shape === undefined))
    return null;
  const own = new Map(payment.inputs.map((one) => [formatOutputReference(one), one]));
  const inputs = listInputs(plan, payment).map((reference) => {
    const name = formatOutputReference(reference);
    const script = scripts.get(name);
    if (script === undefined) return computeSizes(own.get(name)?.value ?? new Map());
    const { value, shape, redeemer, script: source } = script;
    // Outputs are found for inputs by their places in the plan, too.
    const place = plan.scriptInputs.indexOf(script);
    const read = source.from === "reference" ? formatOutputReference(source.output) : null;
    const hex = Buffer.from(redeemer).toString("hex");
    return [place, source.hash, read, hex, shape, computeSizes(value)];
  });
  const outputs = [...plan.outputs, ...payment.change].map(({ address, value, datum, script }) => {
    return [address, computeSizes(value), datum?.length, script?.length];
  });
  return JSON.stringify([inputs, outputs, plan.requiredSigners.length]);
}

/** The units of a value, each with the words of its amount. */
const computeSizes = (value: Value) =>
  [...value].map(([unit, amount]) => [unit, countWords(amount)]);

/** How the ledger's costs see a whole number: by its words of 64 bits. */
export function countWords(value: bigint): number {
  const size = value < 0n ? -value : value;
  return Math.max(Math.ceil(size.toString(2).length / 64), 1);
}
