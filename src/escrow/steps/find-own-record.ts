import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { mayUseWallet } from "../../http/authenticate.ts";
import type { AppContext, Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import type { EscrowRecord, Side } from "../model/escrow-record.ts";
import { requireOwner } from "../queries/scope-condition.ts";
import { type IdentifiedRecord, loadByIdentifier } from "../store/load-by-identifier.ts";

/** An escrow of a side, as requests name it. */
export interface EscrowReference {
  side: Side;
  network: Network;
  blockchainIdentifier: string;
}

/**
 * The record of an escrow, which only its owner and Admins may change: of several the one that is meant.
 *
 * @throws ApiError 403, 404; ArchiveBehindError
 */
export async function findOwnRecord(
  { env, var: { caller, deadline } }: Pick<AppContext, "env" | "var">,
  database: Database,
  named: EscrowReference,
): Promise<IdentifiedRecord> {
  const { side } = named;
  const [found] = await loadByIdentifier(env, database, named, deadline);
  if (!found || !isInScope(found.record, caller))
    throw new ApiError(404, `blockchainIdentifier: there is no such ${side}`);
  requireOwner(caller, found.record);
  return found;
}

function isInScope({ wallet, requestedById }: EscrowRecord, { id, scope }: Caller): boolean {
  if (!scope?.walletIds) return true;
  return wallet === null ? requestedById === id : mayUseWallet(scope, wallet.id);
}
