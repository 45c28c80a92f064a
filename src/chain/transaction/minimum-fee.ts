import type { ExecutionUnits, ProtocolParameters } from "../provider/provider.ts";
import type { TransactionPlan } from "./transaction-plan.ts";

/** Reference scripts cost more per byte for each further stretch of this many bytes (Conway). */
const FEE_TIER_BYTES = 25_600;
const FEE_TIER_MULTIPLIER = { numerator: 6n, denominator: 5n };

/**
 * The least fee of a transaction (Conway's `minfee`), in native minor units.
 *
 * @param length - bytes of the signed transaction
 */
export function computeMinimumFee(plan: TransactionPlan, length: number): bigint {
  const { parameters } = plan;
  const size = parameters.feeConstant + parameters.feePerByte * BigInt(length);
  return (
    size +
    computeExecutionFee(sumExecutionUnits(plan), parameters) +
    computeReferenceScriptFee(plan)
  );
}

/** What all scripts of a transaction may use. */
export function sumExecutionUnits({ scriptInputs, mints }: TransactionPlan): ExecutionUnits {
  return [...scriptInputs, ...mints].reduce(
    (sum, { units }) => ({ memory: sum.memory + units.memory, steps: sum.steps + units.steps }),
    { memory: 0n, steps: 0n },
  );
}

/** Rounded up, as the ledger rounds the sum of both. */
function computeExecutionFee(
  { memory, steps }: ExecutionUnits,
  { priceMemory, priceSteps }: ProtocolParameters,
): bigint {
  const memoryPrice = parseFraction(priceMemory);
  const stepPrice = parseFraction(priceSteps);
  const denominator = memoryPrice.denominator * stepPrice.denominator;
  const numerator =
    memory * memoryPrice.numerator * stepPrice.denominator +
    steps * stepPrice.numerator * memoryPrice.denominator;
  return (numerator + denominator - 1n) / denominator;
}

/** The fee for the scripts that are read from outputs, each once, rounded down (`tierRefScriptFee`). */
function computeReferenceScriptFee({
  scriptInputs,
  mints,
  parameters,
  spentScriptBytes = 0,
}: TransactionPlan): bigint {
  const sizes = new Map<string, number>();
  for (const { script } of [...scriptInputs, ...mints])
    if (script.from === "reference") sizes.set(script.hash, script.size);
  let left = [...sizes.values()].reduce((sum, size) => sum + size, spentScriptBytes);
  let price = parseFraction(parameters.pricePerReferenceByte);
  let fee = { numerator: 0n, denominator: 1n };
  while (left > 0) {
    const bytes = BigInt(Math.min(left, FEE_TIER_BYTES));
    fee = {
      numerator: fee.numerator * price.denominator + bytes * price.numerator * fee.denominator,
      denominator: fee.denominator * price.denominator,
    };
    price = {
      numerator: price.numerator * FEE_TIER_MULTIPLIER.numerator,
      denominator: price.denominator * FEE_TIER_MULTIPLIER.denominator,
    };
    left -= FEE_TIER_BYTES;
  }
  return fee.numerator / fee.denominator;
}

/** Exact value of decimal text, or of a ratio such as `577/10000`. */
function parseFraction(text: string): { numerator: bigint; denominator: bigint } {
  const [dividend = "", divisor = "1"] = text.split("/");
  const [whole = "", decimals = ""] = dividend.split(".");
  return {
    numerator: BigInt(whole + decimals),
    denominator: BigInt(divisor) * 10n ** BigInt(decimals.length),
  };
}
