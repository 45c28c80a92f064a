import { parseAddress } from "../../chain/address.ts";
import type { Network } from "../../chain/network.ts";
import { db } from "../../db/client.ts";
import { commitAudited } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { idempotently } from "../../http/idempotency.ts";
import { activeSource } from "../../sources/active.ts";
import { parsedAddressOn } from "../../sources/checks.ts";
import { findWallet, noSuchWallet } from "../managed/find-wallet.ts";
import { wakeWallet } from "../queue/wake-wallet.ts";
import type { TransferBody, TransferRecord } from "./schemas.ts";
import { insertTransfer, newTransfer } from "./store.ts";
import { toTransferResponse } from "./to-transfer-response.ts";

const FROM = "fromWalletAddress";

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
  if (from === null) throw noSuchWallet(FROM);
  const { network } = from;
  const database = db(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  return idempotently(c, database, now, async (remember) => {
    const wallet = await findWallet(database, network, from.payment.hash);
    const source = wallet && (await activeSource(database, wallet.sourceId));
    if (!source || wallet.address !== from.bech32) throw noSuchWallet(FROM);
    const toAddress = recipientOn(network, body.toAddress);
    const asked = { network, sourceId: source.id, wallet, toAddress, coin, assets, topUp: null };
    const row = newTransfer({ ...asked, createdById: c.var.caller.id }, now);
    const record = toTransferResponse(row);
    const detail = { network, wallet: wallet.id, toAddress, minorUnitAmount: coin, assets };
    await commitAudited(c, database, { action: "wallet.transfer", target: row.id, detail, now }, [
      ...(await remember(record)),
      ...insertTransfer(database, row),
    ]);
    await wakeWallet(c.env, network, wallet.vkey, c.var.requestId);
    return record;
  });
}

/** @throws ApiError 400 */
function recipientOn(network: Network, text: string): string {
  const { bech32, payment } = parsedAddressOn(network, "toAddress", text);
  if (payment.kind !== "key")
    throw new ApiError(
      400,
      "toAddress: must have a payment key: funds sent to a contract without a datum are lost",
    );
  return bech32;
}
