/** The local chain, asked from outside: its provider's API and its controls. */

/** What the provider answers, as it comes. */
export interface ProviderAnswer<Body> {
  status: number;
  headers: Headers;
  body: Body;
}

/**
 * Calls the provider's API with a project id that it takes.
 *
 * @param url - the chain's base URL
 * @param path - with its query
 */
export async function askProvider<Body>(
  url: string,
  path: string,
  init: RequestInit = {},
): Promise<ProviderAnswer<Body>> {
  const headers = { project_id: "preprodLocal", ...init.headers };
  return answerOf(await fetch(url + path, { ...init, headers }));
}

/**
 * Calls `/_control`; see devnet/server/control.ts.
 *
 * @param origin - of the local chain's server
 * @param path - `create`, or a chain's name and an action
 */
export async function askControl<Body>(
  origin: string,
  path: string,
  body: unknown = {},
): Promise<ProviderAnswer<Body>> {
  const init = { method: "POST", body: JSON.stringify(body) };
  return answerOf(await fetch(`${origin}/_control/${path}`, init));
}

/**
 * Has the chain do something.
 *
 * @throws Error when it refuses
 */
export async function control<Body>(origin: string, path: string, body?: unknown): Promise<Body> {
  const answer = await askControl<Body>(origin, path, body);
  if (answer.status === 200) return answer.body;
  throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}

async function answerOf<Body>(response: Response): Promise<ProviderAnswer<Body>> {
  const { status, headers } = response;
  return { status, headers, body: (await response.json()) as Body };
}
