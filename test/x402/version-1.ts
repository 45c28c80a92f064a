import type { FacilitatorAnswer } from "./facilitator.ts";
import type { Envelope, Payload, SettleData } from "./x402-fixture.ts";

export const VERSIONS = [2, 1] as const;
export type Version = (typeof VERSIONS)[number];

const NAMES: Record<string, string> = { "eip155:84532": "base-sepolia", "eip155:8453": "base" };
/** The name of a chain in version 1. */
export const nameOf = (caip2: string) => NAMES[caip2] ?? caip2;

/** What a resource server of version 1 sends to its facilitator. */
export function version1Body(
  { accepted, resource, payload }: Payload,
  { network, amount, ...terms }: Payload["accepted"] = accepted,
) {
  const paymentRequirements = {
    ...terms,
    network: nameOf(network),
    maxAmountRequired: amount,
    resource: resource?.url ?? "https://api.example.com/data",
    description: "A document",
    mimeType: "text/plain",
    outputSchema: { input: { type: "http", method: "GET" } },
  };
  const paymentPayload = {
    x402Version: 1,
    scheme: accepted.scheme,
    network: nameOf(accepted.network),
    payload,
  };
  return { x402Version: 1, paymentPayload, paymentRequirements };
}

/** The answer of `POST /x402/settle` that says the same as a facilitator's. */
export async function toSettleEnvelope(answer: Response): Promise<Envelope<SettleData>> {
  const { error, success, ...body } = (await answer.json()) as FacilitatorAnswer;
  const { status, headers } = answer;
  const { message = "", code = "" } = error ?? {};
  if (status !== 200) return { status, headers, data: undefined as never, message, code };
  const replay = body.errorReason === "duplicate_settlement";
  const { payer = null, transaction = "", network = "", amount = "" } = body;
  const { errorReason, errorMessage } = replay ? {} : body;
  const data = {
    attemptId: "",
    paymentPayloadHash: "",
    paymentIdentifier: null,
    replay,
    settleResponse: {
      success: success === true || replay,
      payer,
      transaction,
      network,
      amount,
      ...(errorReason !== undefined && { errorReason }),
      ...(errorMessage !== undefined && { errorMessage }),
    },
  };
  return { status, headers, data, message, code };
}
