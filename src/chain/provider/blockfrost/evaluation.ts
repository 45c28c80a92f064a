import * as z from "zod";
import {
  type EvaluationObstacle,
  EvaluationUnavailableError,
  type ExecutionUnits,
  ProviderError,
  ScriptFailedError,
} from "../provider.ts";
import { UNKNOWN_INPUT_PATTERN } from "../rejection.ts";
import { parseJson, truncateMessage } from "../request.ts";
import { COUNT_SCHEMA } from "./shapes.ts";

const CALL_NAME = "provider: POST /utils/txs/evaluate/utxos";

const EXECUTION_UNITS = z.object({ memory: COUNT_SCHEMA, steps: COUNT_SCHEMA });

/**
 * The answer of Ogmios 5 (`EvaluateTx`, https://ogmios.dev/v5.6/api/), which the provider passes on. It
 * is a result, the reason for its absence, or a fault of the request.
 */
const RESPONSE_SCHEMA = z.union([
  z.object({ result: z.object({ EvaluationResult: z.record(z.string(), EXECUTION_UNITS) }) }),
  z.object({ result: z.object({ EvaluationFailure: z.record(z.string(), z.unknown()) }) }),
  z.object({ type: z.literal("jsonwsp/fault"), fault: z.object({ string: z.string() }) }),
]);

/**
 * Reads the answer to an evaluation.
 *
 * @param status - 200 or 400. A 400 may contain the node's answer as text.
 * @returns the units of each redeemer, by purpose and index, such as `mint:0`
 * @throws ScriptFailedError, EvaluationUnavailableError, ProviderError
 */
export function parseEvaluation(status: number, text: string): Map<string, ExecutionUnits> {
  const json = status === 400 ? unwrapNodeResponse(text) : parseJson(text);
  const parsed = RESPONSE_SCHEMA.safeParse(json);
  if (!parsed.success) throw createMalformedResponseError(status, text);
  const answer = parsed.data;
  if ("fault" in answer) throw createMalformedRequestError(answer.fault.string);
  if ("EvaluationFailure" in answer.result)
    throw toEvaluationError(answer.result.EvaluationFailure);
  return new Map(
    Object.entries(answer.result.EvaluationResult).map(([name, { memory, steps }]) => [
      name,
      { memory: BigInt(memory), steps: BigInt(steps) },
    ]),
  );
}

/** The node's answer in the body of a 400, or in its message; undefined when there is none. */
function unwrapNodeResponse(text: string): unknown {
  const body = parseJson(text);
  if (RESPONSE_SCHEMA.safeParse(body).success) return body;
  const error = z.object({ message: z.string() }).safeParse(body);
  return error.success ? parseJson(error.data.message) : undefined;
}

function createMalformedResponseError(status: number, text: string): ProviderError {
  if (status === 400) return createMalformedRequestError(text);
  // It may come from a proxy, so it is not permanent.
  return new ProviderError(`${CALL_NAME}: answer is malformed`, { status });
}

/** A malformed request stays malformed when repeated. @param cause - the node's own words */
function createMalformedRequestError(cause: string): ProviderError {
  const message = `${CALL_NAME}: the node cannot interpret the transaction: the log has its words`;
  return new ProviderError(message, {
    status: 400,
    permanent: true,
    cause: truncateMessage(cause),
  });
}

/** Obstacles by the name of the failure. */
const OBSTACLES_BY_KIND: Record<string, EvaluationObstacle> = {
  UnknownInputs: "UnknownInput",
  AdditionalUtxoOverlap: "AdditionalUtxoOverlap",
  NotEnoughSynced: "NotSynced",
};

/** Classifies a failure by its one member. An unknown kind says nothing about a script. */
function toEvaluationError(failure: Record<string, unknown>): Error {
  const [[kind = "", detail] = []] = Object.entries(failure);
  const reason = JSON.stringify(failure);
  if (kind === "ScriptFailures")
    return hasOnlyUnknownInputs(detail)
      ? new EvaluationUnavailableError("UnknownInput", reason)
      : new ScriptFailedError(reason, redeemersOf(detail));
  const obstacle = isUnknownInput(kind, detail) ? "UnknownInput" : OBSTACLES_BY_KIND[kind];
  if (obstacle !== undefined) return new EvaluationUnavailableError(obstacle, reason);
  if (kind === "CannotCreateEvaluationContext" || kind === "IncompatibleEra")
    return createMalformedRequestError(reason);
  return new ProviderError(`${CALL_NAME}: the node gives no result`, {
    cause: truncateMessage(reason),
  });
}

function redeemersOf(failures: unknown): string[] {
  const parsed = z.record(z.string(), z.unknown()).safeParse(failures);
  return parsed.success ? Object.keys(parsed.data) : [];
}

/** Some nodes report an unknown input as its redeemer's failure. */
function hasOnlyUnknownInputs(failures: unknown): boolean {
  const parsed = z
    .record(z.string(), z.array(z.record(z.string(), z.unknown())))
    .safeParse(failures);
  const all = parsed.success ? Object.values(parsed.data).flat() : [];
  return (
    all.length > 0 &&
    all.every((one) => Object.entries(one).every(([kind, detail]) => isUnknownInput(kind, detail)))
  );
}

function isUnknownInput(kind: string, detail: unknown): boolean {
  if (kind === "unknownInputReferencedByRedeemer") return true;
  const context = z.object({ reason: z.string() }).safeParse(detail);
  return (
    kind === "CannotCreateEvaluationContext" &&
    context.success &&
    UNKNOWN_INPUT_PATTERN.test(context.data.reason)
  );
}
