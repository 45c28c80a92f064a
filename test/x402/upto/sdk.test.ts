import { x402Client } from "@x402/core/client";
import type { x402ResourceServer } from "@x402/core/server";
import { UptoEvmScheme as ClientScheme } from "@x402/evm/upto/client";
import { UptoEvmScheme as ServerScheme } from "@x402/evm/upto/server";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { openResourceServer } from "../sdk-server.ts";
import { X402Fixture } from "../x402-fixture.ts";

let x402: X402Fixture;
let network: `${string}:${string}`;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-upto-sdk");
  network = x402.caip2 as typeof network;
});
afterEach(() => vi.unstubAllGlobals());

/** What the SDK's client signs for a maximum of 10,000 of the SDK's resource server. */
async function accept(server: x402ResourceServer, payTo: string) {
  const extra = { name: "Test Dollar", version: "1" };
  const requirements = await server.buildPaymentRequirements({
    scheme: "upto",
    network,
    payTo,
    price: { amount: "10000", asset: x402.contracts.token, extra },
    maxTimeoutSeconds: 300,
  });
  const resource = { url: "https://api.example.com/data", description: "", mimeType: "" };
  const required = await server.createPaymentRequiredResponse(requirements, resource);
  const schemes = [{ network, client: new ClientScheme(await x402.buyer()) }];
  const client = x402Client.fromConfig({ schemes, spendControls: false });
  const payload = await client.createPaymentPayload(required);
  const matching = server.findMatchingRequirements(requirements, payload);
  if (!matching) throw new Error("the client accepted other terms");
  return { payload, matching };
}

describe("the SDK's own client of upto", () => {
  it.each([
    ["2500", /^0x[0-9a-f]{64}$/],
    ["10000", /^0x[0-9a-f]{64}$/],
    ["0", /^$/],
  ])("pays the SDK's own resource server a charge of %s", async (amount, transaction) => {
    const server = await openResourceServer(x402, new ServerScheme());
    const { payTo } = await x402.source();
    const { payload, matching } = await accept(server, payTo);
    expect(await server.verifyPayment(payload, matching)).toMatchObject({ isValid: true });
    expect(await server.settlePayment(payload, { ...matching, amount })).toMatchObject({
      success: true,
      transaction: expect.stringMatching(transaction),
      network,
      amount,
    });
    expect(await x402.balance(payTo)).toBe(BigInt(amount));
    const repeated = server.settlePayment(payload, matching);
    expect(await repeated.catch((error: unknown) => error)).toMatchObject({
      errorReason: "duplicate_settlement",
    });
    expect(await x402.balance(payTo)).toBe(BigInt(amount));
  });
});
