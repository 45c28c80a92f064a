import type { AppContext } from "../http/context.ts";
import { fetchPublic, PublicFetchError } from "../http/outbound/fetch-public.ts";
import { listLoopbackOrigins } from "../http/outbound/loopback-origins.ts";
import { ToolError, type TrustedText, trustLiteral } from "./tool-result.ts";

/** Answers a request as the service answers it from outside. */
export type DispatchRequest = (request: Request, c: AppContext) => Promise<Response> | Response;

/** What tools reach: the API of this service with the caller's key, and agents' own addresses. */
export interface ToolService {
  /**
   * @param idempotencyKey - a repeated call with it acts once
   * @throws ToolError with what the service says
   */
  callApi<Data>(
    method: "GET" | "POST",
    path: string,
    body?: object,
    idempotencyKey?: string,
  ): Promise<Data>;
  /**
   * JSON of an agent; null where it answers with something else.
   *
   * @param body - is posted
   * @throws ToolError when the agent may not be asked or does not answer
   */
  callAgent(apiBaseUrl: string, path: string, body?: object): Promise<unknown>;
  /**
   * The answer of a paid resource, of any status.
   *
   * @throws ToolError when the resource may not be asked or does not answer
   */
  callResource(url: string, request: ResourceRequest): Promise<ResourceResponse>;
}

/** A request to a paid resource. */
export interface ResourceRequest {
  method: "GET" | "POST";
  /** JSON that is posted. */
  body?: object | undefined;
  /** Value of the header PAYMENT-SIGNATURE. */
  payment?: string;
}

/** The answer of a paid resource. */
export interface ResourceResponse {
  status: number;
  headers: Headers;
  text: string;
}

const AGENT_TIMEOUT_MS = 8_000;
const MAX_AGENT_RESPONSE_BYTES = 64 * 1024;
/** The resource settles the payment before it answers. */
const PAID_RESOURCE_TIMEOUT_MS = 12_000;
/** `wrapUntrusted` has room for that much text. */
const MAX_RESOURCE_RESPONSE_BYTES = 192 * 1024;

/**
 * Every check, limit and audit entry of an endpoint holds for a tool too, since it sends the request
 * that a client would send.
 *
 * @param token - the caller's API key
 */
export function createToolService(
  c: AppContext,
  token: string,
  dispatch: DispatchRequest,
): ToolService {
  const askStranger = async (
    url: string,
    options: Parameters<typeof fetchPublic>[1],
    unreachable: TrustedText,
  ) => {
    try {
      return await fetchPublic(url, {
        loopbackOrigins: await listLoopbackOrigins(c.env, c.var.deadline),
        resolverUrl: c.env.DNS_OVER_HTTPS_URL,
        allowHttp: true,
        ...options,
      });
    } catch (error) {
      if (!(error instanceof PublicFetchError)) throw error;
      throw new ToolError(unreachable, { message: error.message });
    }
  };
  return {
    async callApi<Data>(
      method: "GET" | "POST",
      path: string,
      body?: object,
      idempotencyKey?: string,
    ): Promise<Data> {
      const address = c.req.header("cf-connecting-ip");
      const request = new Request(new URL(`/api/v1${path}`, c.req.url), {
        method,
        headers: {
          token,
          ...(address !== undefined && { "cf-connecting-ip": address }),
          ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      const response = await dispatch(request, c);
      const answer = (await response.json()) as { data: Data; error?: { message: string } };
      if (!response.ok)
        throw new ToolError(
          trustLiteral("The service refused the call: see status and untrusted_data.message."),
          { message: answer.error?.message },
          response.status,
        );
      return answer.data;
    },

    async callAgent(apiBaseUrl, path, body) {
      if (/[?#]/.test(apiBaseUrl))
        throw new ToolError(
          trustLiteral("The agent's registered address is not usable. Try another agent."),
        );
      const url = `${apiBaseUrl.trim().replace(/\/$/, "")}${path}`;
      const answer = await askStranger(
        url,
        {
          headers: { accept: "application/json", "content-type": "application/json" },
          timeoutMs: AGENT_TIMEOUT_MS,
          maxBytes: MAX_AGENT_RESPONSE_BYTES,
          ...(body && { method: "POST", body: JSON.stringify(body) }),
        },
        trustLiteral("The agent is not reachable: see untrusted_data.message."),
      );
      if (answer.status < 200 || answer.status > 299) return null;
      return parseJson(new TextDecoder().decode(answer.body));
    },

    async callResource(url, { method, body, payment }) {
      const {
        status,
        headers,
        body: answer,
      } = await askStranger(
        url,
        {
          method,
          headers: {
            ...(body && { "content-type": "application/json" }),
            ...(payment !== undefined && { "payment-signature": payment }),
          },
          timeoutMs: payment === undefined ? AGENT_TIMEOUT_MS : PAID_RESOURCE_TIMEOUT_MS,
          maxBytes: MAX_RESOURCE_RESPONSE_BYTES,
          ...(body && { body: JSON.stringify(body) }),
        },
        trustLiteral("The resource is not reachable: see untrusted_data.message."),
      );
      return { status, headers, text: new TextDecoder().decode(answer) };
    },
  };
}

/** The value of a JSON text; null when the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
