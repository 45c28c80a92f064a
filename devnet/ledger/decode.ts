import { LedgerRejection } from "./rejection.ts";
import { type LedgerTransaction, readTransaction } from "./transaction.ts";

/** @throws LedgerRejection on bytes that are no transaction, as a node that cannot decode them. */
export function decode(cbor: Uint8Array): LedgerTransaction {
  try {
    return readTransaction(cbor);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new LedgerRejection("DecoderFailure", detail);
  }
}
