/** Forms of what EVM nodes return, for `readResult`. Nodes differ in what they leave out or print as null. */
import type { Hex } from "viem";
import * as z from "zod";

/** A number in hex. */
export const quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/i, "must be a number in hex")
  .transform(BigInt);

/** A number that counts blocks, transactions or seconds. */
export const smallQuantity = quantity
  .refine((value) => value <= Number.MAX_SAFE_INTEGER, "is too large")
  .transform(Number);

/** Bytes in hex. Old nodes write `0x0` for none. */
export const bytes = z
  .string()
  .regex(/^0x(?:0|(?:[0-9a-f]{2})*)$/i, "must be bytes in hex")
  .transform((text): Hex => (text === "0x0" ? "0x" : (text as Hex)));

const hash = z.string().regex(/^0x[0-9a-f]{64}$/i, "must be 32 bytes in hex");
const address = z.string().regex(/^0x[0-9a-f]{40}$/i, "must be an address");

/** A block without its transactions. Chains without EIP-1559 leave out the base fee, or print null. */
export const block = z.object({
  number: smallQuantity,
  hash,
  timestamp: smallQuantity,
  baseFeePerGas: quantity.nullish(),
});

const logFields = {
  address,
  topics: z.array(hash),
  data: bytes.nullish().transform((data) => data ?? "0x"),
};

/** A log of a contract, and the transaction and block that have it. */
const minedLog = z.object({
  ...logFields,
  transactionHash: hash,
  blockNumber: smallQuantity,
  blockHash: hash,
});

export type MinedLog = z.output<typeof minedLog>;

/** Some nodes print an empty list as null. */
function nullishArray<Item extends z.ZodType>(item: Item) {
  return z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);
}

/** Logs that a filter finds. */
export const logs = nullishArray(minedLog);

/** The receipt of a transaction; null when no block has the transaction. */
export const receipt = z
  .object({
    transactionHash: hash,
    blockNumber: smallQuantity.nullish(),
    blockHash: hash.nullish(),
    status: quantity.nullish(),
    logs: nullishArray(z.object(logFields)),
  })
  .nullable();

/** The cost in a receipt, in wei; null when no block has the transaction. `l1Fee`: a rollup's for the chain below. */
export const gasCost = z
  .object({
    blockNumber: smallQuantity.nullish(),
    gasUsed: quantity,
    effectiveGasPrice: quantity,
    l1Fee: quantity.nullish(),
  })
  .nullable();

/** The call that a transaction makes; null when the node does not know the transaction. */
export const transactionCall = z
  .object({ to: address.nullish(), input: bytes.nullish(), data: bytes.nullish() })
  .transform(({ to, input, data }) => ({ to: to ?? null, input: input ?? data ?? ("0x" as Hex) }))
  .nullable();

/** The data of a transaction; null when the node does not know the transaction. */
export const transactionInput = z
  .object({ input: bytes.nullish(), data: bytes.nullish() })
  .transform(({ input, data }) => input ?? data ?? "0x")
  .nullable();
