import * as z from "zod";
import { fetchPublic, PublicFetchError } from "../../http/outbound/fetch-public.ts";

/** The node refused the call, or the call reverts. */
export class RpcRefusal extends Error {
  override name = "RpcRefusal";
  readonly code: number;
  /** What a reverted call returned, hex; null when the node did not say. */
  readonly data: string | null;

  constructor(code: number, message: string, data: string | null) {
    super(message);
    this.code = code;
    this.data = data;
  }

  /** Whether the call was executed and reverted, rather than refused by the node. */
  get isRevert(): boolean {
    return this.code === 3 || this.data !== null || FAILED_EXECUTION.test(this.message);
  }
}

/**
 * How nodes report that a call itself failed; anvil begins with `EVM error`. A node whose time is up
 * reports `execution aborted (timeout = 5s)`, which tells nothing about the call.
 */
const FAILED_EXECUTION =
  /revert|out of gas|invalid (opcode|jump)|stack (under|over)flow|EVM error|execution(?!.*(abort|time|cancel))/i;

/** The node gave no answer, so the call may or may not have taken effect. */
export class RpcUnavailableError extends Error {
  override name = "RpcUnavailableError";
  readonly timedOut: boolean;

  constructor(message: string, options: { timedOut?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.timedOut = options.timedOut ?? false;
  }
}

export interface RpcCall {
  method: string;
  params: readonly unknown[];
}

/** A JSON-RPC node of an EVM chain. */
export interface Rpc {
  /**
   * One call, whose result must have the form of the schema.
   *
   * @throws RpcRefusal, RpcUnavailableError
   */
  call<Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    ...params: unknown[]
  ): Promise<z.output<Schema>>;
  /**
   * A batch of calls in one request, answered in order. `readResult` reads each answer.
   *
   * @throws RpcUnavailableError when any has no answer
   */
  callBatch(calls: readonly RpcCall[]): Promise<(unknown | RpcRefusal)[]>;
}

const TIMEOUT_MS = 8_000;
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

/** How a node is reached; see `http/outbound/fetch-public.ts`. */
export interface RpcOptions {
  loopbackOrigins: readonly string[];
  resolverUrl?: string | undefined;
}

/** A client of the node at an operator-supplied URL. */
export function createRpc(url: string, { loopbackOrigins, resolverUrl }: RpcOptions): Rpc {
  /** Some nodes do not support batches; after the first refusal the client sends none. */
  let takesBatches = true;

  const post = async (body: unknown): Promise<HttpResponse> => {
    const send = () =>
      fetchPublic(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_RESPONSE_BYTES,
        allowHttp: true,
        loopbackOrigins,
        resolverUrl,
      });
    try {
      // A kept-alive connection may close as it is used; every call here may be repeated.
      const { status, body } = await send().catch((error: unknown) => {
        if (error instanceof PublicFetchError && error.reason === "unreachable") return send();
        throw error;
      });
      return { status, json: parseJson(new TextDecoder().decode(body)) };
    } catch (error) {
      if (!(error instanceof PublicFetchError)) throw error;
      throw new RpcUnavailableError(`the RPC node gave no answer: ${error.message}`, {
        timedOut: error.reason === "timeout",
        cause: error,
      });
    }
  };

  const callOne = async ({ method, params }: RpcCall): Promise<unknown | RpcRefusal> => {
    const reply = await post({ jsonrpc: "2.0", id: 1, method, params });
    if (reply.json === null) throw toMissingJsonError(reply);
    return unwrapResult(reply.json);
  };

  const callSequentially = async (calls: readonly RpcCall[]): Promise<(unknown | RpcRefusal)[]> => {
    const results: (unknown | RpcRefusal)[] = [];
    // In order, as callers that send transactions require.
    for (const call of calls) results.push(await callOne(call));
    return results;
  };

  const many = async (calls: readonly RpcCall[]): Promise<(unknown | RpcRefusal)[]> => {
    const [first, ...others] = calls;
    if (!first || others.length === 0 || !takesBatches) return callSequentially(calls);
    const batch = await post(
      calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params })),
    );
    const outcomes = unwrapBatchResults(batch, calls.length);
    if (outcomes && !areSameRefusal(outcomes)) return outcomes;
    // The first call alone shows whether the node refuses the batch or its calls.
    const answer = await callOne(first);
    if (outcomes && areSameRefusal([outcomes[0], answer])) return outcomes;
    takesBatches = false;
    return [answer, ...(await callSequentially(others))];
  };

  return {
    callBatch: many,
    async call(schema, method, ...params) {
      const result = await callOne({ method, params });
      if (result instanceof RpcRefusal) throw result;
      return readResult(schema, result);
    },
  };
}

/**
 * Reads a node's answer to a call. This is the only way from an answer to a typed value.
 *
 * @throws RpcUnavailableError when the node refuses the call, or the answer has another form
 */
export function readResult<Schema extends z.ZodType>(
  schema: Schema,
  answer: unknown,
): z.output<Schema> {
  if (answer instanceof RpcRefusal)
    throw new RpcUnavailableError(`the RPC node refused the call: ${answer.message}`, {
      cause: answer,
    });
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue && issue.path.length > 0 ? `${issue.path.join(".")}: ` : "";
  throw new RpcUnavailableError(`the RPC node's answer is malformed: ${place}${issue?.message}`);
}

/** An HTTP answer; `json` is null when its body is not a JSON object or array. */
interface HttpResponse {
  status: number;
  json: object | null;
}

function parseJson(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    // Not JSON, such as a gateway's page.
    return null;
  }
}

function toMissingJsonError({ status }: HttpResponse): RpcUnavailableError {
  return new RpcUnavailableError(`the RPC node answered HTTP ${status} without JSON-RPC`);
}

/**
 * The outcomes of a batch, in the order of its calls. Null when the answer leaves out a call, as the
 * answers of a node that refuses batches do.
 *
 * @throws RpcUnavailableError when the answer says nothing about batches
 */
function unwrapBatchResults(reply: HttpResponse, calls: number): (unknown | RpcRefusal)[] | null {
  const { status, json } = reply;
  const isClientError = status >= 400 && status < 500 && status !== 429;
  if (json === null && !isClientError) throw toMissingJsonError(reply);
  if (!Array.isArray(json)) return null;
  const byId = new Map(json.map((answer: unknown) => [responseIdOf(answer), answer]));
  const answers = Array.from({ length: calls }, (_, id) => byId.get(String(id)));
  return answers.includes(undefined) ? null : answers.map(unwrapResult);
}

/** Some nodes return ids as text. */
function responseIdOf(answer: unknown): string {
  return String((answer as { id?: unknown } | null)?.id);
}

/** Whether all of these are refusals with the same code and text. */
function areSameRefusal(outcomes: readonly (unknown | RpcRefusal)[]): boolean {
  const [first] = outcomes;
  return (
    first instanceof RpcRefusal &&
    outcomes.every(
      (other) =>
        other instanceof RpcRefusal && other.code === first.code && other.message === first.message,
    )
  );
}

/** What a node answers instead of a result: each node writes it in its own form. */
const errorSchema = z
  .object({
    code: z.number().catch(0),
    message: z.string().catch("refused"),
    data: z.string().nullable().catch(null),
  })
  .catch({ code: 0, message: "refused", data: null });

/** What a reverted call returned. Parity writes a word before it. */
const REVERT_DATA_PATTERN = /^(?:Reverted )?(0x(?:[0-9a-f]{2})+)$/i;

function unwrapResult(answer: unknown): unknown | RpcRefusal {
  const { error, ...rest } = (answer ?? {}) as { error?: unknown; result?: unknown };
  if (error) {
    const { code, message, data } = errorSchema.parse(error);
    return new RpcRefusal(code, message, REVERT_DATA_PATTERN.exec(data ?? "")?.[1] ?? null);
  }
  if (!("result" in rest))
    throw new RpcUnavailableError("the RPC node left a call without an answer");
  return rest.result;
}
