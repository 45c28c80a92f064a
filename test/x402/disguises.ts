import type { Payload } from "./x402-fixture.ts";

/** Hex digits in upper case, which say the same. */
export const upper = (hex = "") => `0x${hex.slice(2).toUpperCase()}`;

/** A payment of EIP-3009 with the same authorization in other words. */
export function disguisePayload(payment: Payload): Payload[] {
  const { authorization, signature } = payment.payload as {
    authorization: Record<string, string>;
    signature: string;
  };
  const inside = (changes: Record<string, string>) => ({
    ...payment,
    payload: { signature, authorization: { ...authorization, ...changes } },
  });
  return [
    inside({ from: upper(authorization.from) }),
    inside({ to: upper(authorization.to) }),
    inside({ nonce: upper(authorization.nonce) }),
    inside({ value: `0${authorization.value}` }),
    inside({ validAfter: "00" }),
    inside({ validBefore: `0${authorization.validBefore}` }),
    inside({ note: "x" }),
    { ...payment, payload: { ...payment.payload, note: "x" } },
    { ...payment, payload: { ...payment.payload, signature: upper(signature) } },
  ];
}
