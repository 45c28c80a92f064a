import { hexToBytes } from "../../chain/hex.ts";
import { addWitnesses } from "../../chain/transaction/witnesses.ts";
import { signExtended, type WalletKeys } from "../../chain/wallet-keys.ts";
import { RetryLaterError } from "../../wallets/queue/errors.ts";
import type { PrebuiltTransaction } from "../../wallets/queue/feature.ts";
import { parseTransaction } from "../../wallets/spending/model/serialize-transaction.ts";
import { countGivenSignatures } from "./settlement-message.ts";
import type { ProposalRow } from "./tables.ts";

/**
 * The transaction that administrators have signed, signed by the wallet that pays for it as well.
 *
 * @throws RetryLaterError: not all have
 */
export function signSettlement(row: ProposalRow, keys: WalletKeys): PrebuiltTransaction {
  const { message, prepared, expiresAt, administrators, signatures } = row;
  if (prepared === null) throw new Error(`proposal ${row.id} has no transaction`);
  if (countGivenSignatures(administrators, signatures) < row.required)
    throw new RetryLaterError("waits for signatures", expiresAt ?? 0, "person");
  const byAdministrators = signatures.map(({ publicKey, signature }) => ({
    publicKey: hexToBytes(publicKey),
    signature: hexToBytes(signature),
  }));
  const own = {
    publicKey: keys.paymentPublicKey,
    signature: signExtended(keys, hexToBytes(message)),
  };
  const isAdministrator = signatures.some(({ vkey }) => vkey === keys.vkey);
  const all = isAdministrator ? byAdministrators : [...byAdministrators, own];
  const cbor = addWitnesses(hexToBytes(prepared.unsigned), all);
  const transaction = parseTransaction({
    ...{ hash: message, phase: "Stored", sequence: 0, sourceId: row.sourceId },
    content: prepared.content,
    ...{ blockHeight: null, blockHash: null, blockTime: null, overHeight: null, error: null },
    movedAt: Date.now(),
  });
  return { cbor, transaction: { ...transaction, size: cbor.length } };
}
