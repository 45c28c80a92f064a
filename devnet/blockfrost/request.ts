import type { Chain } from "../ledger/chain.ts";
import type { LedgerView } from "../ledger/view.ts";

/** One call of the API, after its path was matched. */
export interface BlockfrostRequest {
  /** Values of the path's parameters, by the names that the specification gives them. */
  params: Record<string, string>;
  query: URLSearchParams;
  /** Header; empty when there is none. */
  contentType: string;
  body: Uint8Array;
  chain: Chain;
  /** The node whose mempool a transaction is handed to. */
  node: number;
  /** The chain as the answering node sees it, which need not be the chain's present. */
  view: LedgerView;
}

/** Answers a call, or throws a `BlockfrostError`. */
export type Handler = (request: BlockfrostRequest) => unknown;

const ERROR_NAMES: Record<number, string> = {
  400: "Bad Request",
  402: "Project Over Limit",
  403: "Forbidden",
  404: "Not Found",
  418: "Requested Banned",
  425: "Mempool Full",
  429: "Project Over Limit",
};

/** A refusal in the shape that the specification gives every answer other than 200. */
export class BlockfrostError extends Error {
  override name = "BlockfrostError";
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

export function errorBody(status: number, message?: string) {
  const error = ERROR_NAMES[status] ?? "Internal Server Error";
  return { status_code: status, error, message: message ?? error };
}

export function notFound(): BlockfrostError {
  return new BlockfrostError(404, "The requested component has not been found.");
}

/** What the real service says of a path that it does not serve. */
export function invalidPath(): BlockfrostError {
  return new BlockfrostError(400, "Invalid path. Please check https://docs.blockfrost.io/");
}

/** The parameter `name` of the path. */
export function param(request: BlockfrostRequest, name: string): string {
  const value = request.params[name];
  if (value === undefined) throw new Error(`The path has no parameter ${name}`);
  return value;
}
