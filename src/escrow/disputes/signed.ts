import { hexToBytes } from "../../chain/hex.ts";
import { signExtended, type WalletKeys } from "../../chain/keys.ts";
import { withWitnesses } from "../../chain/transaction/witnesses.ts";
import { NotYet } from "../../wallets/spending/making/window.ts";
import { transactionOf } from "../../wallets/spending/written.ts";
import type { PreparedTransaction } from "../../wallets/work.ts";
import { type AdminSignature, agreeingOf } from "./message.ts";
import type { PreparedSettlement, ProposalRow } from "./tables.ts";

/**
 * The transaction that administrators have signed, signed by the wallet that pays for it as well.
 *
 * @throws NotYet: not all have
 */
export function signedSettlement(row: ProposalRow, keys: WalletKeys): PreparedTransaction {
  const { message, prepared, expiresAt } = row;
  const { unsigned, content } = JSON.parse(prepared ?? "null") as PreparedSettlement;
  const administrators = JSON.parse(row.administrators) as string[];
  const signatures = JSON.parse(row.signatures) as AdminSignature[];
  if (agreeingOf(administrators, signatures) < row.required)
    throw new NotYet("waits for signatures", expiresAt ?? 0);
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
  const cbor = withWitnesses(hexToBytes(unsigned), all);
  const transaction = transactionOf({
    ...{ hash: message, phase: "Stored", sequence: 0, sourceId: row.sourceId, content },
    ...{ blockHeight: null, blockHash: null, blockTime: null, overHeight: null, error: null },
    movedAt: Date.now(),
  });
  return { cbor, transaction: { ...transaction, size: cbor.length } };
}
