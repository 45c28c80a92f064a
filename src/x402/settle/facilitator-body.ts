/** The bodies that a facilitator receives, in both versions of x402. */
import * as z from "zod";
import { described, named, setDocumentSchema } from "../../http/openapi/fields.ts";
import { InvalidPayloadError, readAuthorization } from "../evm/authorization.ts";
import type { PaymentFailure } from "../model/messages.ts";
import {
  caip2,
  type PaymentPayload,
  type PaymentRequirements,
  paymentPayload,
  paymentRequirements,
  strictRequirements,
  tokenAmount,
} from "../model/schemas.ts";
import {
  isVersion1,
  translateVersion1,
  version1Payload,
  version1Requirements,
} from "../model/version-1.ts";

const x402VersionText = "Version of x402. Default: the version of the payment.";
const termsText = "The terms that the resource requires.";

/** Accepts every form, since x402 reports a malformed body in a 200 response. */
export const facilitatorBody = setDocumentSchema(
  z.object({
    x402Version: z.unknown().optional(),
    paymentPayload: z.unknown(),
    paymentRequirements: z.unknown(),
  }),
  z.union([
    named(
      "X402FacilitatorRequest",
      "A payment, and the terms that it must meet (x402 v2, specification §7).",
      z.object({
        x402Version: described(z.int().min(0).optional(), x402VersionText, 2),
        paymentPayload,
        paymentRequirements: described(paymentRequirements, termsText),
      }),
    ),
    named(
      "X402Version1FacilitatorRequest",
      "A payment, and the terms that it must meet (x402 v1).",
      z.object({
        x402Version: described(z.literal(1).optional(), x402VersionText, 1),
        paymentPayload: version1Payload,
        paymentRequirements: described(version1Requirements, termsText),
      }),
    ),
  ]),
);
export type FacilitatorBody = z.output<typeof facilitatorBody>;

/** Why the service cannot settle a body. Reason codes: x402 specification §9. */
export interface MalformedRequest extends PaymentFailure {
  /** As the request names it. */
  network: string;
}

/** A payment in terms of version 2. */
export interface ReadPayment {
  payload: PaymentPayload;
  requirements: PaymentRequirements;
  /** Of the scheme `upto`: the amount that the payer must have signed. `requirements` has the charge. */
  maxAmount?: string;
  /** The payment as its buyer wrote it. */
  hashed: unknown;
}

/** The payment in a body of either version, whose terms the service can settle. */
export function readFacilitatorBody(
  body: FacilitatorBody,
  purpose: "verify" | "settle",
): ReadPayment | MalformedRequest {
  const read = readPayment(body, purpose);
  return "reason" in read ? { ...read, network: readNetwork(body.paymentRequirements) } : read;
}

function readPayment(
  body: FacilitatorBody,
  purpose: "verify" | "settle",
): ReadPayment | PaymentFailure {
  const isFirstVersion = isVersion1(body.paymentPayload);
  const payment = isFirstVersion ? readVersion1(body) : readVersion2(body);
  if ("reason" in payment) return payment;
  const { scheme, network } = payment.requirements;
  const isUpto = scheme === "upto" && !isFirstVersion;
  if (scheme !== "exact" && !isUpto)
    return refuse("unsupported_scheme", "paymentRequirements.scheme: must be exact or upto");
  if (!caip2.safeParse(network).success)
    return refuse("invalid_network", "paymentRequirements.network: must be an EVM chain");
  const isCharge = isUpto && purpose === "settle";
  const schema = isCharge ? chargeRequirements : strictRequirements;
  const requirements = schema.safeParse(payment.requirements);
  if (!requirements.success) return refuse("invalid_payment_requirements", requirements.error);
  const read = { ...payment, requirements: requirements.data };
  if (!isUpto) return read;
  return { ...read, maxAmount: isCharge ? readSignedAmount(read) : read.requirements.amount };
}

/** Terms of a payment of the scheme `upto` whose amount is its charge. */
const chargeRequirements = strictRequirements.extend({ amount: tokenAmount(0n) });

/** The resource server has verified that the payer signed its maximum. Empty: no such payment. */
function readSignedAmount({ payload: { payload } }: ReadPayment): string {
  try {
    return String(readAuthorization(payload, "upto").value);
  } catch (error) {
    if (error instanceof InvalidPayloadError) return "";
    throw error;
  }
}

function readVersion2(body: FacilitatorBody): ReadPayment | PaymentFailure {
  const payload = paymentPayload.safeParse(body.paymentPayload);
  if ((body.x402Version ?? 2) !== 2)
    return refuse("invalid_x402_version", "x402Version: must be 2");
  if (!payload.success) return refuse("invalid_payload", payload.error);
  if (payload.data.x402Version !== 2)
    return refuse("invalid_x402_version", "paymentPayload.x402Version: must be 1 or 2");
  const requirements = paymentRequirements.safeParse(body.paymentRequirements);
  if (!requirements.success) return refuse("invalid_payment_requirements", requirements.error);
  return { payload: payload.data, requirements: requirements.data, hashed: payload.data };
}

function readVersion1(body: FacilitatorBody): ReadPayment | PaymentFailure {
  if ((body.x402Version ?? 1) !== 1)
    return refuse("invalid_x402_version", "x402Version: must be 1");
  const payload = version1Payload.safeParse(body.paymentPayload);
  if (!payload.success) return refuse("invalid_payload", payload.error);
  const terms = version1Requirements.safeParse(body.paymentRequirements);
  if (!terms.success) return refuse("invalid_payment_requirements", terms.error);
  const translated = translateVersion1(payload.data, terms.data);
  if (translated) return { ...translated, hashed: payload.data };
  const isExact = payload.data.scheme === "exact" && terms.data.scheme === "exact";
  return refuse(
    isExact ? "invalid_exact_evm_network_mismatch" : "invalid_exact_evm_scheme",
    "network: must be the name of an EVM chain in version 1, such as base",
  );
}

function refuse(reason: string, problem: string | z.ZodError): PaymentFailure {
  return { reason, message: typeof problem === "string" ? problem : formatIssues(problem) };
}

function readNetwork(requirements: unknown): string {
  const { network } = z.object({ network: z.string() }).safeParse(requirements).data ?? {};
  return network ?? "";
}

function formatIssues(error: z.ZodError): string {
  return error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.join(".")}: ${message}`)
    .join("; ");
}
