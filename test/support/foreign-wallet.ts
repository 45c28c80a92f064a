/**
 * A wallet of a third party, for tests that run in another process. Foreign code reads, hashes and
 * encodes what the wallet signs.
 *
 * `POST /_control/{chain}/sign` takes the wallet's words, and `data` or a `transaction` in hex.
 */
import { hexToBytes } from "@noble/hashes/utils.js";
import { z } from "zod";
import type { Devnet } from "../../devnet/server/server.ts";
import { bytesToHex } from "../../src/chain/hex.ts";

const Body = z.object({
  mnemonic: z.string(),
  data: z.string().optional(),
  transaction: z.string().optional(),
});

/** What CIP-30 has a wallet answer. */
export interface ForeignSignature {
  /** To `signData`: COSE_Sign1 and COSE_Key; to `signTx`: a witness set; hex. */
  signature: string;
  key?: string;
}

/** Registers the action `sign`. */
export function registerForeignWallet(devnet: Devnet): void {
  devnet.onControl("sign", async (_, body) => {
    const { mnemonic, data, transaction } = Body.parse(body);
    // Loaded for those who ask: it takes a while.
    const { Address, COSE, Client, PrivateKey, preprod, TransactionWitnessSet } = await import(
      "@evolution-sdk/evolution"
    );
    const wallet = Client.make(preprod).withSeed({ mnemonic, accountIndex: 0 });
    if (transaction !== undefined) {
      const witnesses = await wallet.signTx(transaction);
      return { signature: TransactionWitnessSet.toCBORHex(witnesses) };
    }
    const signed = COSE.SignData.signData(
      Address.toHex(await wallet.address()),
      hexToBytes(data ?? ""),
      PrivateKey.fromMnemonicCardano(mnemonic),
    );
    return { signature: bytesToHex(signed.signature), key: bytesToHex(signed.key) };
  });
}
