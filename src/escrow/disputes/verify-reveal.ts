import { utf8ToBytes } from "@noble/hashes/utils.js";
import { toCanonicalJson } from "../../canonical-json.ts";
import { parseAddress } from "../../chain/address.ts";
import { readCoseSign1, verifyCoseMessage } from "../../chain/cose.ts";
import { hashKey } from "../../chain/wallet-keys.ts";
import { openDb } from "../../db/client.ts";
import { listPermittedNetworks } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { findActiveSource } from "../../sources/find-source.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import { isWithinScope } from "../queries/scope-condition.ts";
import { loadByIdentifier } from "../store/load-by-identifier.ts";
import { parseAdministratorKeys } from "./administrators.ts";
import type { RevealRequest } from "./schemas.ts";

/** Longest validity of a signature. */
const MAX_VALIDITY_MS = 2 * 60 * 60 * 1000;

/**
 * Verifies that an administrator of the contract asks for the data of a disputed job. Only the payment key
 * counts: anyone can combine an administrator's payment key with another stake key.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 404
 */
export async function verifyReveal(
  c: AppContext,
  request: RevealRequest,
  now: number,
): Promise<{ isValid: boolean; problem: string | null }> {
  const payment = await findPayment(c, request.blockchainIdentifier);
  if (payment.state.onChainState !== "Disputed")
    throw new ApiError(
      400,
      `blockchainIdentifier: the payment is ${payment.state.onChainState ?? "not locked"}, not Disputed`,
    );
  const source = await findActiveSource(openDb(c.env, undefined, c.var), payment.sourceId);
  if (!source) throw new ApiError(404, "blockchainIdentifier: the payment source was removed");
  const address = parseAddress(request.walletAddress);
  if (address?.network !== payment.network)
    throw new ApiError(400, `walletAddress: must be an address on ${payment.network}`);
  const isAdministrator = parseAdministratorKeys(source).includes(address.payment.hash);
  if (address.payment.kind !== "key" || !isAdministrator)
    throw new ApiError(
      400,
      "walletAddress: must be the address of an administrator of the contract",
    );
  if (request.validUntil < now) throw new ApiError(400, "validUntil: the signature has expired");
  if (request.validUntil > now + MAX_VALIDITY_MS)
    throw new ApiError(400, "validUntil: must be at most two hours ahead");
  const problem = findSignatureProblem(request, address.payment.hash);
  return { isValid: problem === null, problem };
}

/** What is wrong with the signature, for people; null: nothing. */
function findSignatureProblem(request: RevealRequest, vkey: string): string | null {
  const cose = readCoseSign1(request);
  if (cose === null) return "signature and key are not a COSE_Sign1 with its COSE_Key";
  if (hashKey(cose.publicKey) !== vkey) return "the key is not the payment key of walletAddress";
  const { action, blockchainIdentifier, validUntil } = request;
  const message = utf8ToBytes(toCanonicalJson({ action, blockchainIdentifier, validUntil }));
  const verdict = verifyCoseMessage(cose, message);
  if (verdict === "other message")
    return "the signature does not cover this action, blockchainIdentifier and validUntil";
  return verdict === "signed" ? null : "the signature does not fit the key";
}

/** The payment, on whichever network of the key it is. @throws ApiError 404 */
async function findPayment(c: AppContext, blockchainIdentifier: string): Promise<EscrowRecord> {
  for (const network of listPermittedNetworks(c.var.caller)) {
    const named = { network, blockchainIdentifier, side: "payment" as const };
    const database = openDb(c.env, network, c.var);
    const [found] = await loadByIdentifier(c.env, database, named, c.var.deadline);
    const record = found?.record;
    if (record && isWithinScope(c.var.caller.scope, record)) return record;
  }
  throw new ApiError(404, "blockchainIdentifier: there is no such payment");
}
