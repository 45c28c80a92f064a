import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { mayUse } from "../../http/authenticate.ts";
import type { Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { drivesOf } from "../../sources/drives.ts";
import type { SourceRow } from "../../sources/record.ts";
import { walletsOf } from "../../wallets/managed/find.ts";
import type { WalletRow } from "../../wallets/managed/tables.ts";
import { sourcesOfPolicy } from "../requests/source.ts";
import type { QuotedIdentifier } from "./identifier.ts";

/** Which contract a purchase is locked at, and who may pay it. */
export interface Payers {
  source: SourceRow;
  /** Its purchasing wallets. */
  wallets: WalletRow[];
  /** Those that begin something new; none where `refuseUndriven` says why. */
  driven: WalletRow[];
}

/**
 * The payment source of a quote, and its purchasing wallets. An identifier of Web3ChainV1 does not name
 * the contract: then the oldest of the agent's policy that can pay.
 *
 * @throws ApiError 404
 */
export async function payersOf(
  database: Database,
  { scope }: Caller,
  network: Network,
  agentIdentifier: string,
  { type, contractAddress }: QuotedIdentifier,
): Promise<Payers> {
  const all = await sourcesOfPolicy(database, network, agentIdentifier);
  const sources = all.filter(
    (source) =>
      source.type === type &&
      (contractAddress === null || source.contractAddress === contractAddress),
  );
  if (sources.length === 0)
    throw new ApiError(
      404,
      `agentIdentifier: no payment source of ${type} has this agent's policy${contractAddress === null ? "" : " and the contract of blockchainIdentifier"}`,
    );
  const ids = sources.map(({ id }) => id);
  const buyers = (await walletsOf(database, ids)).filter(
    ({ id, role }) => role === "Purchasing" && mayUse(scope, id),
  );
  const payers = sources
    .map((source) => {
      const wallets = buyers.filter(({ sourceId }) => sourceId === source.id);
      const driven = wallets.filter((wallet) => drivesOf(source, wallet) === "all");
      return { source, wallets, driven };
    })
    .filter(({ wallets }) => wallets.length > 0);
  const found = payers.find(({ driven }) => driven.length > 0) ?? payers[0];
  if (!found)
    throw new ApiError(
      404,
      "agentIdentifier: the payment source has no purchasing wallet that the API key may use",
    );
  return found;
}

/** @throws ApiError 503 */
export function refuseUndriven({ source, driven }: Payers): void {
  if (driven.length > 0) return;
  throw new ApiError(
    503,
    source.drives === "all"
      ? `No purchasing wallet of the payment source ${source.id} makes new purchases: none has the drives all`
      : `The payment source ${source.id} makes no new purchases: its drives is ${source.drives}`,
    { retryAfter: 300 },
  );
}
