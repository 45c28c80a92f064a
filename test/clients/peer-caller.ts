/** Calls each operation of the peer's document, and remembers what came of it. */
import type { PeerDocument } from "./peer-document.ts";

type Query = Record<string, string>;

/** What is sent with a call. */
export interface CallOptions {
  query?: Query;
  body?: object;
  /** The Admin's unless it is given. */
  token?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: the peer's document is what checks the answer's shape
type Answer = any;

/** Sends a request of the peer's document, and returns `data`. */
export type Call = (operation: string, options?: CallOptions) => Promise<Answer>;

/** What has come of the calls of an operation. */
export interface Outcome {
  statuses: number[];
  problems: string[];
}

/** A caller whose outcomes stand in the map, by operation. */
export function createCaller(
  document: PeerDocument,
  { url, token }: { url: string; token: string },
): { call: Call; outcomes: Map<string, Outcome> } {
  const outcomes = new Map<string, Outcome>();
  const call: Call = async (operation, { query = {}, body, token: other = token } = {}) => {
    const [method = "", path = ""] = operation.split(" ");
    const search = new URLSearchParams(query);
    const problems = document.requestProblems(operation, search, body);
    const response = await fetch(`${url}/api/v1${path}?${search}`, {
      method,
      headers: { token: other, connection: "close", "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { status } = response;
    const answer: Answer = await response.json();
    if (status === 200) problems.push(...document.answerProblems(operation, answer));
    else if (status !== 501) problems.push(`${status} ${JSON.stringify(answer)}`);
    const before = outcomes.get(operation) ?? { statuses: [], problems: [] };
    outcomes.set(operation, {
      statuses: [...before.statuses, status],
      problems: [...before.problems, ...problems],
    });
    return answer.data;
  };
  return { call, outcomes };
}
