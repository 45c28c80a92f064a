import { env } from "cloudflare:workers";
import type { Env } from "../../src/env.ts";
import { app } from "../support/app.ts";
import type { TestChain } from "../support/chain.ts";
import { ASLEEP } from "../support/objects.ts";
import { WebhookService } from "../support/webhooks/receivers.ts";

/** An answer of the service, as whoever asked has it. */
export interface Answered {
  status: number;
  /** The body, as text. */
  body: string;
  headers: Headers;
}

/** Fields of a request: the query of a GET, else the body. */
export type Fields = Record<string, unknown>;

/** The service on a local chain, with its queues in the test's hand and its objects asleep. */
export class Service {
  readonly webhooks: WebhookService;
  readonly chain: TestChain;
  /** What requests are given as the database. */
  database = env.DB;

  constructor(chain: TestChain) {
    const { DEVNET_URL, EVM_URL, RECEIVER_URL, AGENTS_URL, INBOX_URL } = env;
    this.chain = chain;
    this.webhooks = new WebhookService({
      ...ASLEEP,
      BLOCKFROST_URL_PREPROD: chain.url,
      LOOPBACK_ORIGINS: [DEVNET_URL, EVM_URL, RECEIVER_URL, AGENTS_URL, INBOX_URL].join(),
      INBOX_PROVIDER_URL_PREPROD: `${INBOX_URL}/`,
      CHAIN_CLOCK: "tip",
    });
  }

  get env(): Env {
    return this.webhooks.env;
  }

  /**
   * Asks an operation of the OpenAPI document.
   *
   * @param operation - such as `GET /payment`; paths under /api/v1 are named without it
   */
  async ask(operation: string, fields: Fields, token = env.ADMIN_KEY ?? ""): Promise<Answered> {
    const [method = "", path = ""] = operation.split(" ");
    const isAdminPath = path.startsWith("/v1/");
    const query = new URLSearchParams();
    if (method === "GET")
      for (const [name, value] of Object.entries(fields)) query.append(name, String(value));
    const headers: Record<string, string> = isAdminPath
      ? { authorization: `Bearer ${token}` }
      : { token, "idempotency-key": crypto.randomUUID() };
    return this.send(`${isAdminPath ? "" : "/api/v1"}${path}?${query}`, {
      method,
      headers,
      ...(method !== "GET" && { body: JSON.stringify(fields) }),
    });
  }

  /**
   * Has a tool of the Model Context Protocol used.
   *
   * @returns what it answers, with the status 400 for an error
   */
  async callTool(name: string, fields: Fields, token = env.ADMIN_KEY ?? ""): Promise<Answered> {
    const { body, headers } = await this.message("tools/call", { name, arguments: fields }, token);
    const { result } = JSON.parse(body) as {
      result: { isError: boolean; content: [{ text: string }] };
    };
    return { status: result.isError ? 400 : 200, body: result.content[0].text, headers };
  }

  /** Sends a message of the Model Context Protocol. */
  message(method: string, params: object, token: string): Promise<Answered> {
    return this.send("/mcp", {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  }

  async send(path: string, init: RequestInit): Promise<Answered> {
    const answer = await app.request(path, init, { ...this.env, DB: this.database });
    return { status: answer.status, body: await answer.text(), headers: answer.headers };
  }

  /** The data of an answer that has to be a success. */
  async made<Data>(operation: string, fields: Fields, token?: string): Promise<Data> {
    const { status, body } = await this.ask(operation, fields, token);
    if (status !== 200) throw new Error(`${operation}: ${status} ${body}`);
    return (JSON.parse(body) as { data: Data }).data;
  }
}
