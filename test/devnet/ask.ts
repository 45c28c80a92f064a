import type { DevnetNode } from "../../devnet/node.ts";

export interface Asked {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

/** Calls a node's provider API as a client with a valid project id would. */
export async function ask(node: DevnetNode, path: string, init: RequestInit = {}): Promise<Asked> {
  const headers = { project_id: "preprodTest", ...init.headers };
  return read(await fetch(node.url + path, { ...init, headers }));
}

/** Calls `/_control`. */
export async function control(origin: string, path: string, body: unknown = {}): Promise<Asked> {
  const init = { method: "POST", body: JSON.stringify(body) };
  return read(await fetch(`${origin}/_control/${path}`, init));
}

async function read(response: Response): Promise<Asked> {
  const { status, headers } = response;
  return { status, headers, body: await response.json() };
}
