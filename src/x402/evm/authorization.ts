import * as z from "zod";
import type { PaymentPayload } from "../model/schemas.ts";

/** A signed transfer that anybody may submit to the chain once. */
export type Authorization = Eip3009Authorization | Permit2Authorization;

/** EIP-3009 `TransferWithAuthorization`. Times are Unix seconds. */
export interface Eip3009Authorization {
  kind: "eip3009";
  from: string;
  to: string;
  value: bigint;
  validAfter: bigint;
  validBefore: bigint;
  /** 32 bytes, hex. */
  nonce: string;
  signature: string;
}

/** Permit2 `PermitWitnessTransferFrom` with the witness of x402. Times are Unix seconds. */
export interface Permit2Authorization {
  kind: "permit2";
  from: string;
  token: string;
  value: bigint;
  spender: string;
  nonce: bigint;
  validBefore: bigint;
  to: string;
  validAfter: bigint;
  signature: string;
}

/** A payload without a valid authorization; the message names what is missing. */
export class InvalidPayloadError extends Error {
  override name = "InvalidPayloadError";
}

const hex = z.string().regex(/^0x([0-9a-fA-F]{2})*$/, "must be 0x and whole bytes in hex");
const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/, "must be an address");
const uint = z
  .string()
  .regex(/^\d{1,78}$/, "must be a whole number in decimal digits")
  .transform(BigInt)
  .refine((value) => value < 2n ** 256n, "must be below 2^256");
/** Decimal text, or hex as in an example of the x402 specification. */
const permit2Nonce = z.union([
  uint,
  z
    .string()
    .regex(/^0x[0-9a-fA-F]{1,64}$/)
    .transform(BigInt),
]);
const signature = hex.max(20_000);

const eip3009 = z.object({
  signature,
  authorization: z.object({
    from: address,
    to: address,
    value: uint,
    validAfter: uint,
    validBefore: uint,
    nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/, "must be 32 bytes in hex"),
  }),
});

const permit2 = z.object({
  signature,
  permit2Authorization: z.object({
    from: address,
    permitted: z.object({ token: address, amount: uint }),
    spender: address,
    nonce: permit2Nonce,
    deadline: uint,
    witness: z.object({ to: address, validAfter: uint }),
  }),
});

/**
 * The authorization in a payload's `payload` (x402 `exact` on EVM).
 *
 * @throws InvalidPayloadError
 */
export function readAuthorization(payload: PaymentPayload["payload"]): Authorization {
  if ("permit2Authorization" in payload) {
    const { permit2Authorization: permit, signature } = parsePayload(permit2, payload);
    return {
      kind: "permit2",
      from: permit.from,
      token: permit.permitted.token,
      value: permit.permitted.amount,
      spender: permit.spender,
      nonce: permit.nonce,
      validBefore: permit.deadline,
      to: permit.witness.to,
      validAfter: permit.witness.validAfter,
      signature,
    };
  }
  if (!("authorization" in payload))
    throw new InvalidPayloadError(
      "payload: needs authorization (EIP-3009) or permit2Authorization",
    );
  const { authorization, signature } = parsePayload(eip3009, payload);
  return { kind: "eip3009", ...authorization, signature };
}

function parsePayload<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    ({ path, message }) => `payload.${path.join(".")}: ${message}`,
  );
  throw new InvalidPayloadError(problems.join("; "));
}

/**
 * Identifies the authorization itself, however its payload is written, and whatever scheme or version of
 * x402 it is sent in. The token contract uses an EIP-3009 nonce once per payer. Permit2 uses a nonce once
 * per owner, whatever the token and the spender.
 *
 * @param asset - the token's address
 */
export function toAuthorizationKey(
  caip2Id: string,
  asset: string,
  authorization: Authorization,
): string {
  const { from, nonce } = authorization;
  const scope =
    authorization.kind === "eip3009" ? ["eip3009", caip2Id, asset] : ["permit2", caip2Id];
  return [...scope, from, nonce].join(":").toLowerCase();
}
