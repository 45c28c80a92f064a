/**
 * `status` of an answer. GET and PATCH /webhooks, GET /payment/diff/onchain-state-or-result and
 * POST /invoice/monthly print `Success`; every other operation prints `success`.
 */
export type SuccessStatus = "success" | "Success";

/** The envelope of every answer under /api/v1. */
export interface Envelope<Data> {
  status: SuccessStatus;
  data: Data;
}

/** Puts data into its envelope. */
export function toEnvelope<Data>(data: Data, status: SuccessStatus = "success"): Envelope<Data> {
  return { status, data };
}

/** A point in time as the interface prints it: `YYYY-MM-DDTHH:mm:ss.sssZ`. From epoch milliseconds. */
export function toIsoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** The same; null for null. */
export function toIsoTimeOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : toIsoTime(milliseconds);
}

/**
 * A whole number for an answer, printed with all of its digits: a JavaScript number has 53 bits. It is
 * for `JSON.stringify` alone.
 */
export function toExactNumber(value: bigint): number {
  // TypeScript does not know the method yet.
  const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => number };
  return rawJSON(String(value));
}
