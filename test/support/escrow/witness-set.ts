import { encodeArray, encodeBytes, encodeInt, encodeMap } from "../../../src/chain/cbor.ts";
import { bytesToHex, hexToBytes } from "../../../src/chain/hex.ts";
import { signExtended, type WalletKeys } from "../../../src/chain/wallet-keys.ts";

/** A witness set as a wallet answers `signTx`. */
export function witnessSet(hash: string, ...keys: WalletKeys[]): string {
  const signed = keys.map((one) =>
    encodeArray([
      encodeBytes(one.paymentPublicKey),
      encodeBytes(signExtended(one, hexToBytes(hash))),
    ]),
  );
  return bytesToHex(encodeMap([[encodeInt(0n), encodeArray(signed)]]));
}
