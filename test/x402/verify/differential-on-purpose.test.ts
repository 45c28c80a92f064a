import { beforeAll, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { Judges, type Spoil, signed, terms } from "./differential.ts";
import { walletOf, withDeployment } from "./smart-wallet.ts";

let judges: Judges;

beforeAll(async () => {
  await emptyTables();
  judges = await Judges.open("84532-on-purpose");
});

/**
 * Where the SDK throws, which reaches a resource server as an HTTP error without a reason, ours
 * answers with one. And where it would accept what the chain may not, or the other way about.
 */
describe("ours differs from the SDK's, on purpose, where", () => {
  it.each<[string, string, Spoil]>([
    ["a value is no number", "invalid_payload", signed({ value: "ten" })],
    ["a nonce is no 32 bytes", "invalid_payload", signed({ nonce: "0x12" })],
    ["a payer is no address", "invalid_payload", signed({ from: "0x12" })],
    ["an amount is no number", "invalid_payment_requirements", terms({ amount: "ten" })],
    ["an amount is a fraction", "invalid_payment_requirements", terms({ amount: "1.5" })],
    ["a token is no address", "invalid_payment_requirements", terms({ asset: "0x12" })],
    ["a payee is no address", "invalid_payment_requirements", terms({ payTo: "0x12" })],
    [
      "a payee is the zero address",
      "invalid_payment_requirements",
      terms({ payTo: `0x${"0".repeat(40)}` }),
    ],
    ["the scheme is another", "unsupported_scheme", terms({ scheme: "other" })],
    ["the chain is no EVM chain", "invalid_network", terms({ network: "solana:mainnet" })],
    [
      "a payload has neither authorization",
      "invalid_payload",
      ({ requirements, payload }) => ({
        requirements,
        payload: { ...payload, payload: { signature: "0x12" } },
      }),
    ],
    [
      "a version is another",
      "invalid_x402_version",
      ({ requirements, payload }) => ({ requirements, payload: { ...payload, x402Version: 1 } }),
    ],
  ])("%s: %s", async (_, reason, spoil) => {
    const { ours, theirs } = await judges.verdicts(await spoil(await judges.fresh("eip3009")));
    expect(ours).toEqual({ isValid: false, reason });
    expect(theirs).not.toEqual(ours);
  });

  it("a wallet's deployment would fail: smart_wallet_deployment_failed", async () => {
    const { x402, source } = judges;
    const owner = await x402.buyer();
    const wallet = await walletOf(x402, owner);
    const payment = await x402.payment(owner, source, "eip3009", wallet.address);
    const payload = withDeployment(payment, { ...wallet, deployment: "0xdeadbeef" });
    const { requirements } = source;
    const { ours, theirs } = await judges.verdicts({ payload, requirements });
    expect(ours).toEqual({ isValid: false, reason: "smart_wallet_deployment_failed" });
    // Only when it settles does the SDK tell a deployment from a transfer.
    expect(theirs.reason).toBe("invalid_exact_evm_transaction_simulation_failed");
  });
});
