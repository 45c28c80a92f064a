import { x402Client } from "@x402/core/client";
import { ExactEvmScheme as ClientScheme } from "@x402/evm/exact/client";
import { ExactEvmScheme as ServerScheme } from "@x402/evm/exact/server";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { openResourceServer } from "../sdk-server.ts";
import { settle, X402Fixture } from "../x402-fixture.ts";

let x402: X402Fixture;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-sdk");
});
afterEach(() => vi.unstubAllGlobals());

/** The SDK's client, which signs whatever is asked. */
function client(buyer: Awaited<ReturnType<X402Fixture["buyer"]>>): x402Client {
  const scheme = new ClientScheme(buyer);
  const network = x402.caip2 as `${string}:${string}`;
  return x402Client.fromConfig({ schemes: [{ network, client: scheme }], spendControls: false });
}

const extraOf = (method: string) => ({
  name: "Test Dollar",
  version: "1",
  decimals: 6,
  assetTransferMethod: method,
});

describe("the SDK's own client", () => {
  it.each(["eip3009", "permit2"])("pays the SDK's own resource server by %s", async (method) => {
    const server = await openResourceServer(x402, new ServerScheme());
    const [buyer, { payTo }] = [await x402.buyer(), await x402.source()];
    const requirements = await server.buildPaymentRequirements({
      scheme: "exact",
      network: x402.caip2 as `${string}:${string}`,
      payTo,
      price: { amount: "10000", asset: x402.contracts.token, extra: extraOf(method) },
      maxTimeoutSeconds: 300,
    });
    const resource = { url: "https://api.example.com/data", description: "", mimeType: "" };
    const required = await server.createPaymentRequiredResponse(requirements, resource);
    const payload = await client(buyer).createPaymentPayload(required);
    const matching = server.findMatchingRequirements(requirements, payload);
    if (!matching) throw new Error("the client accepted other terms");

    expect(await server.verifyPayment(payload, matching)).toMatchObject({ isValid: true });
    expect(await server.settlePayment(payload, matching)).toMatchObject({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: x402.caip2,
      payer: buyer.address.toLowerCase(),
      amount: "10000",
    });
    expect(await x402.balance(payTo)).toBe(10_000n);
    // One payment is told as success once: a server that would answer twice for it is warned.
    expect(
      await server.settlePayment(payload, matching).catch((error: unknown) => error),
    ).toMatchObject({
      errorReason: "duplicate_settlement",
    });
    expect(await x402.balance(payTo)).toBe(10_000n);
  });

  it.each(["eip3009", "permit2"])("pays a registered resource by %s", async (method) => {
    const [buyer, source] = [await x402.buyer(), await x402.source()];
    const requirements = { ...source.requirements, extra: extraOf(method) };
    const payload = await client(buyer).createPaymentPayload({
      x402Version: 2,
      resource: { url: source.url, description: "", mimeType: "" },
      accepts: [requirements],
    } as never);
    const { data } = await settle(source, payload);
    expect(data).toMatchObject({ replay: false, settleResponse: { success: true } });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });
});
