import { describe, expect, it } from "vitest";
import { readAuthorization, toAuthorizationKey } from "../../../src/x402/evm/authorization.ts";

const PAYER = "0x00000000000000000000000000000000000000Aa";
const TOKEN = "0x00000000000000000000000000000000000000bb";
const OTHER = "0x00000000000000000000000000000000000000cc";

/** The key of a Permit2 payment, with a nonce of 255 unless the test writes it. */
function keyOf(over: Record<string, unknown>, witness: Record<string, unknown> = {}) {
  const permit2Authorization = {
    from: PAYER,
    permitted: { token: TOKEN, amount: "10000" },
    spender: "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
    nonce: "255",
    deadline: "1",
    witness: { to: OTHER, validAfter: "0", ...witness },
    ...over,
  };
  const authorization = readAuthorization({ signature: "0x12", permit2Authorization });
  return toAuthorizationKey("eip155:8453", TOKEN, authorization);
}

describe("the key of a Permit2 authorization", () => {
  const key = `permit2:eip155:8453:${PAYER.toLowerCase()}:255`;

  it("names the chain, the owner and the nonce", () => {
    expect(keyOf({})).toBe(key);
  });

  it("is the same for each scheme", () => {
    const spender = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";
    expect(keyOf({ spender }, { facilitator: OTHER })).toBe(key);
  });

  it("is the same for each token and amount", () => {
    expect(keyOf({ permitted: { token: OTHER, amount: "1" } })).toBe(key);
  });

  it.each(["0255", "0xff", "0x00FF"])("is the same for the nonce written as %s", (nonce) => {
    expect(keyOf({ nonce })).toBe(key);
  });

  it("is another for another nonce", () => {
    expect(keyOf({ nonce: "0xfe" })).toBe(`${key.slice(0, -3)}254`);
  });
});
