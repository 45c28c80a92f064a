/** Calls the service's API as an operator, a seller or an agent does. */
import { randomUUID } from "node:crypto";

/** A running service and a key for it. */
export interface ApiAccess {
  /** Origin without a trailing slash. */
  url: string;
  token: string;
}

/** The service answered with something else than 2xx. */
export class Refused extends Error {
  override name = "Refused";
  readonly status: number;

  constructor(what: string, status: number, text: string) {
    super(`${what}: ${status} ${text}`);
    this.status = status;
  }
}

type Method = "GET" | "POST" | "PATCH" | "DELETE";

/**
 * Calls an endpoint under /api/v1. A request with a body gets a new Idempotency-Key.
 *
 * @throws Refused
 */
export function ask<Data = unknown>(
  access: ApiAccess,
  method: Method,
  path: string,
  body?: object,
): Promise<Data> {
  return askPlainly(access, method, path, body, body && { "idempotency-key": randomUUID() });
}

/**
 * The same without an Idempotency-Key.
 *
 * @throws Refused
 */
export async function askPlainly<Data = unknown>(
  { url, token }: ApiAccess,
  method: Method,
  path: string,
  body?: object,
  headers?: Record<string, string>,
): Promise<Data> {
  const bodyHeaders = body && { "content-type": "application/json", ...headers };
  // The runtime closes idle connections after seconds, on a busy machine just when the client uses
  // one again.
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { token, connection: "close", ...bodyHeaders },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Refused(`${method} ${path}`, response.status, text);
  return (JSON.parse(text) as { data: Data }).data;
}
