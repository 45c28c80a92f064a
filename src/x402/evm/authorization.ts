import * as z from "zod";
import type { PaymentPayload } from "../model/schemas.ts";

/** A signed transfer that may be submitted to the chain once: of the scheme `exact` by anybody. */
export type Authorization = Eip3009Authorization | Permit2Authorization;

/** EIP-3009 `TransferWithAuthorization`. Times are Unix seconds, and the nonce 32 bytes in hex. */
export type Eip3009Authorization = z.output<typeof eip3009>["authorization"] & {
  kind: "eip3009";
  signature: string;
};

/** Permit2 `PermitWitnessTransferFrom` with the witness of x402. Times are Unix seconds. */
export type Permit2Authorization = ReturnType<typeof toPermit2Authorization> & {
  /** Of the scheme `upto`: the only address that may submit it. Null: the scheme is `exact`. */
  facilitator: string | null;
  signature: string;
};

/** A payload without a valid authorization; the message names what is missing. */
export class InvalidPayloadError extends Error {
  override name = "InvalidPayloadError";
  /** Reason code of x402. */
  readonly reason: "invalid_payload" | "unsupported_payload_type";

  constructor(message: string, reason: InvalidPayloadError["reason"] = "invalid_payload") {
    super(message);
    this.reason = reason;
  }
}

const hex = z.string().regex(/^0x([0-9a-fA-F]{2})*$/, "must be 0x and whole bytes in hex");
export const hexAddress = z.string().regex(/^0x[0-9a-fA-F]{40}$/, "must be an address");
const toUint256 = (text: z.ZodString) =>
  text.transform(BigInt).refine((value) => value < 2n ** 256n, "must be below 2^256");
export const uint256 = toUint256(
  z.string().regex(/^\d{1,78}$/, "must be a whole number in decimal digits"),
);
/** Decimal text, or hex as in an example of the x402 specification. */
const permit2Nonce = toUint256(
  z
    .string()
    .regex(/^(\d{1,78}|0x[0-9a-fA-F]{1,64})$/, "must be a whole number, in decimal digits or hex"),
);
const signature = hex.max(20_000);

const eip3009 = z.object({
  signature,
  authorization: z.object({
    from: hexAddress,
    to: hexAddress,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/, "must be 32 bytes in hex"),
  }),
});

const witness = z.object({ to: hexAddress, validAfter: uint256 });
const permit = z.object({
  from: hexAddress,
  permitted: z.object({ token: hexAddress, amount: uint256 }),
  spender: hexAddress,
  nonce: permit2Nonce,
  deadline: uint256,
});
const permit2 = z.object({ signature, permit2Authorization: permit.extend({ witness }) });
const upto = z.object({
  signature,
  permit2Authorization: permit.extend({ witness: witness.extend({ facilitator: hexAddress }) }),
});

/**
 * The authorization in a payload's `payload` (x402 `exact` and `upto` on EVM).
 *
 * @param scheme - that of the requirements
 * @throws InvalidPayloadError
 */
export function readAuthorization(
  payload: PaymentPayload["payload"],
  scheme = "exact",
): Authorization {
  if (scheme === "upto") {
    const { permit2Authorization: permit, signature } = parseUpto(payload);
    const { facilitator } = permit.witness;
    return { ...toPermit2Authorization(permit), facilitator, signature };
  }
  if ("permit2Authorization" in payload) {
    const { permit2Authorization: permit, signature } = parsePayload(permit2, payload);
    return { ...toPermit2Authorization(permit), facilitator: null, signature };
  }
  if (!("authorization" in payload))
    throw new InvalidPayloadError(
      "payload: needs authorization (EIP-3009) or permit2Authorization",
    );
  const { authorization, signature } = parsePayload(eip3009, payload);
  return { kind: "eip3009", ...authorization, signature };
}

function toPermit2Authorization(permit: z.output<typeof permit2>["permit2Authorization"]) {
  return {
    kind: "permit2" as const,
    from: permit.from,
    token: permit.permitted.token,
    value: permit.permitted.amount,
    spender: permit.spender,
    nonce: permit.nonce,
    validBefore: permit.deadline,
    to: permit.witness.to,
    validAfter: permit.witness.validAfter,
  };
}

/** As the SDK does, tells a payload of another type from one with a wrong value. */
function parseUpto(payload: unknown): z.output<typeof upto> {
  const { error } = upto.safeParse(payload);
  const isOtherType = error?.issues.some(({ code }) => code === "invalid_type");
  return parsePayload(upto, payload, isOtherType ? "unsupported_payload_type" : "invalid_payload");
}

function parsePayload<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  reason?: InvalidPayloadError["reason"],
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    ({ path, message }) => `payload.${path.join(".")}: ${message}`,
  );
  throw new InvalidPayloadError(problems.join("; "), reason);
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
