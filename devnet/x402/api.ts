import { randomUUID } from "node:crypto";

/** A key of the service's API. */
export interface ApiAccess {
  /** The service's origin, without a trailing slash. */
  url: string;
  token: string;
}

/** @throws with the answer when it is not 2xx. */
export async function ask<Data = unknown>(
  { url, token }: ApiAccess,
  path: string,
  body: object,
): Promise<Data> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method: "POST",
    headers: { token, "content-type": "application/json", "idempotency-key": randomUUID() },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${text}`);
  return (JSON.parse(text) as { data: Data }).data;
}
