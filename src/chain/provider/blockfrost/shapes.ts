import * as z from "zod";
import type { ProviderUtxo } from "../provider.ts";

export const HASH = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hex characters");
export const HEX = z.string().regex(/^(?:[0-9a-f]{2})*$/, "must be hex");
export const COUNT_SCHEMA = z.int().nonnegative();
export const QUANTITY_SCHEMA = z.string().regex(/^\d+$/);

/** An output as the provider lists it. */
export const UTXO = z.object({
  address: z.string(),
  tx_hash: HASH,
  output_index: COUNT_SCHEMA,
  amount: z.array(z.object({ unit: z.string(), quantity: QUANTITY_SCHEMA })),
  inline_datum: HEX.nullable(),
  reference_script_hash: z.string().nullable(),
});

export function toProviderUtxo(row: z.infer<typeof UTXO>): ProviderUtxo {
  return {
    address: row.address,
    txHash: row.tx_hash,
    outputIndex: row.output_index,
    amount: row.amount,
    inlineDatum: row.inline_datum,
    referenceScriptHash: row.reference_script_hash,
  };
}
