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

/** How nodes report a call that ran but was aborted; anvil begins with `EVM error`. */
const FAILED_EXECUTION =
  /revert|out of gas|invalid (opcode|jump)|stack (under|over)flow|EVM error|execution/i;

/** There is no answer: what was sent may or may not have taken effect. */
export class RpcUnavailable extends Error {
  override name = "RpcUnavailable";
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
  /** @throws RpcRefusal, RpcUnavailable */
  call<Result>(method: string, ...params: unknown[]): Promise<Result>;
  /**
   * A batch of calls in one request, answered in order.
   *
   * @throws RpcUnavailable when any has no answer
   */
  many(calls: readonly RpcCall[]): Promise<(unknown | RpcRefusal)[]>;
}

interface Answer {
  id?: unknown;
  result?: unknown;
  error?: { code?: number; message?: string; data?: unknown };
}

const TIMEOUT_MS = 8_000;
const MAX_BYTES = 4 * 1024 * 1024;

/** How a node is reached; see `http/outbound/fetch-public.ts`. */
export interface RpcOptions {
  loopbackOrigins: readonly string[];
  resolverUrl?: string | undefined;
}

/** A client of the node at an operator-supplied URL. */
export function createRpc(url: string, { loopbackOrigins, resolverUrl }: RpcOptions): Rpc {
  /** Some nodes do not support batches; once refused, none are sent. */
  let takesArrays = true;

  const post = async (body: unknown): Promise<unknown> => {
    const send = () =>
      fetchPublic(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
        allowHttp: true,
        loopbackOrigins,
        resolverUrl,
      });
    try {
      // A kept-alive connection may close as it is used; every call here may be repeated.
      const response = await send().catch((error: unknown) => {
        if (error instanceof PublicFetchError && error.reason === "unreachable") return send();
        throw error;
      });
      return parse(response.status, new TextDecoder().decode(response.body));
    } catch (error) {
      if (!(error instanceof PublicFetchError)) throw error;
      throw new RpcUnavailable(`the RPC node gave no answer: ${error.message}`, {
        timedOut: error.reason === "timeout",
        cause: error,
      });
    }
  };

  const one = async ({ method, params }: RpcCall): Promise<unknown | RpcRefusal> =>
    outcome((await post({ jsonrpc: "2.0", id: 1, method, params })) as Answer);

  const many = async (calls: readonly RpcCall[]): Promise<(unknown | RpcRefusal)[]> => {
    const [first] = calls;
    if (!first) return [];
    if (calls.length === 1) return [await one(first)];
    if (takesArrays) {
      const answers = await post(
        calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params })),
      );
      if (Array.isArray(answers)) {
        const byId = new Map((answers as Answer[]).map((answer) => [answer.id, answer]));
        return calls.map((_, id) => outcome(byId.get(id)));
      }
      takesArrays = false;
    }
    const results: (unknown | RpcRefusal)[] = [];
    // In order, as callers that send transactions require.
    for (const call of calls) results.push(await one(call));
    return results;
  };

  return {
    many,
    async call<Result>(method: string, ...params: unknown[]) {
      const result = await one({ method, params });
      if (result instanceof RpcRefusal) throw result;
      return result as Result;
    },
  };
}

function parse(status: number, text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Not JSON, such as a gateway's page: reported below without its text.
  }
  throw new RpcUnavailable(`the RPC node answered HTTP ${status} without JSON-RPC`);
}

function outcome(answer: Answer | undefined): unknown | RpcRefusal {
  if (answer?.error) {
    const { code = 0, message = "refused", data } = answer.error;
    return new RpcRefusal(code, message, typeof data === "string" && data !== "0x" ? data : null);
  }
  if (!answer || !("result" in answer))
    throw new RpcUnavailable("the RPC node left a call without an answer");
  return answer.result;
}
