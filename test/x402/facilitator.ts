import { call } from "../support/app.ts";
import { type Version, version1Body } from "./version-1.ts";
import type { Payload } from "./x402-fixture.ts";

/** What the plain facilitator interface answers. */
export interface FacilitatorAnswer {
  isValid?: boolean;
  invalidReason?: string;
  payer?: string;
  success?: boolean;
  errorReason?: string;
  errorMessage?: string;
  transaction?: string;
  network?: string;
  amount?: string;
  /** Of an answer that is none of the interface's. */
  error?: { message: string; code: string };
}

/** POST /x402/facilitator/verify or settle, for terms that the caller brings along. */
export async function facilitate(
  path: "verify" | "settle",
  paymentPayload: Payload,
  paymentRequirements: Payload["accepted"] = paymentPayload.accepted,
  headers: Record<string, string> = {},
  version: Version = 2,
): Promise<{ status: number; headers: Headers; body: FacilitatorAnswer }> {
  const body = JSON.stringify(
    version === 1
      ? version1Body(paymentPayload, paymentRequirements)
      : { x402Version: 2, paymentPayload, paymentRequirements },
  );
  const answer = await call(`/api/v1/x402/facilitator/${path}`, { method: "POST", body, headers });
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as FacilitatorAnswer,
  };
}
