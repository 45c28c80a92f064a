import * as z from "zod";
import {
  type EvaluationObstacle,
  type ExecutionUnits,
  NotEvaluated,
  ProviderError,
  ScriptFailed,
} from "./provider.ts";
import { parseJson, truncateMessage } from "./request.ts";

const CALL = "provider: POST /utils/txs/evaluate/utxos";

const COUNT = z.int().nonnegative();
const UNITS = z.object({ memory: COUNT, steps: COUNT });

/**
 * The answer of Ogmios 5 (`EvaluateTx`, https://ogmios.dev/v5.6/api/), which the provider passes on. It
 * is a result, the reason for its absence, or a fault of the request.
 */
const ANSWER = z.union([
  z.object({ result: z.object({ EvaluationResult: z.record(z.string(), UNITS) }) }),
  z.object({ result: z.object({ EvaluationFailure: z.record(z.string(), z.unknown()) }) }),
  z.object({ type: z.literal("jsonwsp/fault"), fault: z.object({ string: z.string() }) }),
]);

/**
 * Reads the answer to an evaluation.
 *
 * @param status - 200 or 400. A 400 may contain the node's answer as text.
 * @returns the units of each redeemer, by purpose and index, such as `mint:0`
 * @throws ScriptFailed, NotEvaluated, ProviderError
 */
export function evaluationOf(status: number, text: string): Map<string, ExecutionUnits> {
  const json = status === 400 ? wrappedAnswer(text) : parseJson(text);
  const parsed = ANSWER.safeParse(json);
  if (!parsed.success) throw withoutAnswer(status, text);
  const answer = parsed.data;
  if ("fault" in answer) throw malformed(answer.fault.string);
  if ("EvaluationFailure" in answer.result) throw failureOf(answer.result.EvaluationFailure);
  return new Map(
    Object.entries(answer.result.EvaluationResult).map(([name, { memory, steps }]) => [
      name,
      { memory: BigInt(memory), steps: BigInt(steps) },
    ]),
  );
}

/** The node's answer in the body of a 400, or in its message; undefined when there is none. */
function wrappedAnswer(text: string): unknown {
  const body = parseJson(text);
  if (ANSWER.safeParse(body).success) return body;
  const error = z.object({ message: z.string() }).safeParse(body);
  return error.success ? parseJson(error.data.message) : undefined;
}

function withoutAnswer(status: number, text: string): ProviderError {
  if (status === 400) return malformed(text);
  // It may come from a proxy, so it is not permanent.
  return new ProviderError(`${CALL}: answer is malformed`, { status });
}

/** A malformed request stays malformed when repeated. @param cause - the node's own words */
function malformed(cause: string): ProviderError {
  const message = `${CALL}: the node cannot interpret the transaction: the log has its words`;
  return new ProviderError(message, {
    status: 400,
    permanent: true,
    cause: truncateMessage(cause),
  });
}

/** Obstacles by the name of the failure. */
const OBSTACLES: Record<string, EvaluationObstacle> = {
  UnknownInputs: "UnknownInput",
  AdditionalUtxoOverlap: "AdditionalUtxoOverlap",
  NotEnoughSynced: "NotSynced",
};

/** Classifies a failure by its one member. An unknown kind says nothing about a script. */
function failureOf(failure: Record<string, unknown>): Error {
  const [[kind = "", detail] = []] = Object.entries(failure);
  const reason = JSON.stringify(failure);
  if (kind === "ScriptFailures")
    return onlyUnknownInputs(detail)
      ? new NotEvaluated("UnknownInput", reason)
      : new ScriptFailed(reason, redeemersOf(detail));
  const obstacle = isUnknownInput(kind, detail) ? "UnknownInput" : OBSTACLES[kind];
  if (obstacle !== undefined) return new NotEvaluated(obstacle, reason);
  if (kind === "CannotCreateEvaluationContext" || kind === "IncompatibleEra")
    return malformed(reason);
  return new ProviderError(`${CALL}: the node gives no result`, { cause: truncateMessage(reason) });
}

function redeemersOf(failures: unknown): string[] {
  const parsed = z.record(z.string(), z.unknown()).safeParse(failures);
  return parsed.success ? Object.keys(parsed.data) : [];
}

/** Some nodes report an unknown input as its redeemer's failure. */
function onlyUnknownInputs(failures: unknown): boolean {
  const parsed = z
    .record(z.string(), z.array(z.record(z.string(), z.unknown())))
    .safeParse(failures);
  const all = parsed.success ? Object.values(parsed.data).flat() : [];
  return (
    all.length > 0 &&
    all.every((one) => Object.entries(one).every(([kind, detail]) => isUnknownInput(kind, detail)))
  );
}

/** The ledger's error for an input that is not among its unspent outputs. */
const UNKNOWN_INPUT = /unknown transaction input|missing from UTxO set/i;

function isUnknownInput(kind: string, detail: unknown): boolean {
  if (kind === "unknownInputReferencedByRedeemer") return true;
  const context = z.object({ reason: z.string() }).safeParse(detail);
  return (
    kind === "CannotCreateEvaluationContext" &&
    context.success &&
    UNKNOWN_INPUT.test(context.data.reason)
  );
}
