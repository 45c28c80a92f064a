import { parseAddress } from "../../chain/address.ts";
import type { Network } from "../../chain/network.ts";
import { openDb } from "../../db/client.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently } from "../../http/idempotency.ts";
import { findActiveSource } from "../../sources/find-source.ts";
import { requireParsedAddress } from "../../sources/validate-request.ts";
import { createWalletNotFoundError, findWallet } from "../managed/find-wallet.ts";
import { wakeWallet } from "../queue/wake-wallet.ts";
import type { TransferBody, TransferRecord } from "./schemas.ts";
import { createTransfer, insertTransfer } from "./store.ts";
import { toTransferResponse } from "./to-transfer-response.ts";

const SENDER_FIELD = "fromWalletAddress";

/**
 * Accepts a transfer; the wallet's object pays it afterwards.
 *
 * @param now - epoch milliseconds
 * @returns the record, once per Idempotency-Key
 * @throws ApiError 400, 404, 422
 */
export async function requestTransfer(
  c: AppContext,
  body: TransferBody,
  now: number,
): Promise<TransferRecord> {
  const { minorUnitAmount: coin, assets } = body;
  const from = parseAddress(body.fromWalletAddress);
  if (from === null) throw createWalletNotFoundError(SENDER_FIELD);
  const { network } = from;
  const database = openDb(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  return runIdempotently(c, database, now, async (remember) => {
    const wallet = await findWallet(database, network, from.payment.hash);
    const source = wallet && (await findActiveSource(database, wallet.sourceId));
    if (!source || wallet.address !== from.bech32) throw createWalletNotFoundError(SENDER_FIELD);
    const toAddress = requireRecipient(network, body.toAddress);
    const asked = { network, sourceId: source.id, wallet, toAddress, coin, assets, topUp: null };
    const row = createTransfer({ ...asked, createdById: c.var.caller.id }, now);
    const record = toTransferResponse(row);
    const detail = { network, wallet: wallet.id, toAddress, minorUnitAmount: coin, assets };
    await commitWithAudit(c, database, { action: "wallet.transfer", target: row.id, detail, now }, [
      ...(await remember(record)),
      ...insertTransfer(database, row),
    ]);
    await wakeWallet(c.env, network, wallet.vkey, c.var.requestId);
    return record;
  });
}

/** @throws ApiError 400 */
function requireRecipient(network: Network, text: string): string {
  const { bech32, payment } = requireParsedAddress(network, "toAddress", text);
  if (payment.kind !== "key")
    throw new ApiError(
      400,
      "toAddress: must have a payment key: funds sent to a contract without a datum are lost",
    );
  return bech32;
}
