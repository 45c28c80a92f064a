/** The facilitator's answers in version 1 of x402. */
import { EVM_NETWORK_CHAIN_ID_MAP } from "@x402/evm/v1";
import { beforeAll, describe, expect, it } from "vitest";
import { toNetworkName } from "../../../src/x402/model/version-1.ts";
import { call, emptyTables } from "../../support/app.ts";
import { disguisePayload } from "../disguises.ts";
import { type FacilitatorAnswer, facilitate } from "../facilitator.ts";
import { version1Body } from "../version-1.ts";
import { api, type Payload, settle, X402Fixture } from "../x402-fixture.ts";

type Source = Awaited<ReturnType<X402Fixture["source"]>>;

let x402: X402Fixture;
let source: Source;
let payment: Payload;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-version-1");
});

async function sign(method?: "permit2"): Promise<void> {
  source = await x402.source();
  payment = await x402.payment(await x402.buyer(), source, method);
}

const facilitateV1 = (path: "verify" | "settle", by = payment, terms = by.accepted) =>
  facilitate(path, by, terms, {}, 1);

async function send(path: string, body: object): Promise<FacilitatorAnswer> {
  const init = { method: "POST", body: JSON.stringify(body) };
  return (await call(`/api/v1/x402/facilitator/${path}`, init)).json();
}

async function attempts(): Promise<object[]> {
  const { data } = await api<{ PaymentAttempts: { payTo: string }[] }>("/x402/payments?take=100");
  return data.PaymentAttempts.filter(({ payTo }) => payTo === source.payTo);
}

it("names the networks as the SDK does", () => {
  const networks = Object.entries(EVM_NETWORK_CHAIN_ID_MAP);
  expect(networks.map(([, id]) => toNetworkName(`eip155:${id}`))).toEqual(
    networks.map(([name]) => name),
  );
});

describe("the facilitator, in version 1,", () => {
  it("supports the chains that version 1 has names for", async () => {
    await X402Fixture.create("31337-version-1");
    const answer = await call("/api/v1/x402/facilitator/supported");
    const { kinds, extensions } = (await answer.json()) as {
      kinds: { network: string; scheme: string }[];
      extensions: string[];
    };
    expect(extensions).toEqual(["payment-identifier", "bazaar"]);
    const scheme = "exact";
    const exact = kinds.filter((kind) => kind.scheme === scheme);
    expect(exact.toSorted((a, b) => (a.network < b.network ? -1 : 1))).toEqual([
      { x402Version: 1, scheme, network: "base-sepolia" },
      { x402Version: 2, scheme, network: "eip155:31337" },
      { x402Version: 2, scheme, network: "eip155:84532" },
    ]);
  });

  it("verifies and settles, and records attempts in terms of version 2", async () => {
    await sign();
    const verified = await facilitateV1("verify");
    expect(verified).toMatchObject({ status: 200, body: { isValid: true } });
    const { body } = await facilitateV1("settle");
    const transaction = expect.stringMatching(/^0x[0-9a-f]{64}$/);
    expect(body).toEqual({
      success: true,
      payer: verified.body.payer,
      transaction,
      network: "base-sepolia",
      amount: "10000",
    });
    expect((await facilitateV1("settle")).body).toMatchObject({
      success: false,
      errorReason: "duplicate_settlement",
      transaction: body.transaction,
      network: "base-sepolia",
    });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
    const terms = { caip2Network: x402.caip2, amount: "10000", resource: source.url };
    expect(await attempts()).toMatchObject([
      { ...terms, direction: "InboundSettle", status: "Replayed" },
      { ...terms, direction: "InboundSettle", status: "Settled" },
      { ...terms, direction: "InboundVerify", status: "Verified" },
    ]);
  });

  it.each([
    ["1 and then 2", [1, 2] as const],
    ["2 and then 1", [2, 1] as const],
  ])("settles an authorization that comes in version %s once", async (_, [first, second]) => {
    await sign();
    const send = (version: 1 | 2) => facilitate("settle", payment, payment.accepted, {}, version);
    expect((await send(first)).body.success).toBe(true);
    const { status, body } = await send(second);
    const [attempt] = (await attempts()) as { id: string }[];
    expect({ status, message: body.error?.message }).toEqual({
      status: 409,
      message: expect.stringContaining(attempt?.id ?? ""),
    });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("settles an authorization once of all that come at once, in any dress and version", async () => {
    await sign();
    const dresses = [payment, ...disguisePayload(payment)];
    const answers = await Promise.all(
      dresses.flatMap((dress) => [
        facilitateV1("settle", dress, payment.accepted),
        settle(source, dress),
      ]),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...statuses.slice(1).map(() => 409)]);
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("says success once of 50 submissions at once", async () => {
    await sign();
    const answers = await Promise.all(Array.from({ length: 50 }, () => facilitateV1("settle")));
    expect(answers.filter(({ body }) => body.success)).toHaveLength(1);
    expect(new Set(answers.map(({ body }) => body.transaction)).size).toBe(1);
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("settles the same payment again as a duplicate, whatever the terms say of its resource", async () => {
    await sign();
    expect((await facilitateV1("settle")).body.success).toBe(true);
    const { resource: _, ...other } = payment;
    expect((await facilitateV1("settle", other)).body).toMatchObject({
      errorReason: "duplicate_settlement",
    });
  });

  it("has no Permit2, not even beside an authorization", async () => {
    await sign("permit2");
    const reason = "invalid_payload";
    expect((await facilitateV1("verify")).body).toMatchObject({ invalidReason: reason });
    expect((await facilitateV1("settle")).body).toMatchObject({ errorReason: reason });
    const permit = payment.payload.permit2Authorization;
    payment = await x402.payment(await x402.buyer(), source);
    payment.payload.permit2Authorization = permit;
    expect((await facilitateV1("settle")).body).toMatchObject({ success: true });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("has its own reason for an amount that is not the signed one", async () => {
    await sign();
    const terms = { ...payment.accepted, amount: "9999" };
    const reason = "invalid_exact_evm_authorization_value";
    const verified = await facilitateV1("verify", payment, terms);
    expect(verified.body).toMatchObject({ invalidReason: reason });
    const settled = await facilitateV1("settle", payment, terms);
    expect(settled.body).toMatchObject({ errorReason: reason, network: "base-sepolia" });
  });

  it.each<[string, string, (body: ReturnType<typeof version1Body>) => object]>([
    [
      "a network without a name",
      "invalid_exact_evm_network_mismatch",
      ({ paymentPayload, ...rest }) => ({
        ...rest,
        paymentPayload: { ...paymentPayload, network: "eip155:84532" },
      }),
    ],
    [
      "terms of a network without a name",
      "invalid_exact_evm_network_mismatch",
      ({ paymentRequirements, ...rest }) => ({
        ...rest,
        paymentRequirements: { ...paymentRequirements, network: "solana" },
      }),
    ],
    [
      "a network that the service does not have",
      "invalid_network",
      ({ paymentPayload, paymentRequirements, ...rest }) => ({
        ...rest,
        paymentPayload: { ...paymentPayload, network: "sei" },
        paymentRequirements: { ...paymentRequirements, network: "sei" },
      }),
    ],
    [
      "another version of the request",
      "invalid_x402_version",
      (body) => ({ ...body, x402Version: 2 }),
    ],
    [
      "the terms of version 2",
      "invalid_payment_requirements",
      (body) => ({ ...body, paymentRequirements: payment.accepted }),
    ],
    [
      "the payment of version 2",
      "invalid_payload",
      (body) => ({ ...body, paymentPayload: { ...payment, x402Version: 1 } }),
    ],
    [
      "an amount that is no number",
      "invalid_payment_requirements",
      ({ paymentRequirements, ...rest }) => ({
        ...rest,
        paymentRequirements: { ...paymentRequirements, maxAmountRequired: "ten" },
      }),
    ],
  ])("refuses %s: %s", async (_, reason, spoil) => {
    await sign();
    const body = spoil(version1Body(payment));
    expect(await send("verify", body)).toMatchObject({ isValid: false, invalidReason: reason });
    expect(await send("settle", body)).toMatchObject({ success: false, errorReason: reason });
    expect(await x402.balance(source.payTo)).toBe(0n);
    expect(await attempts()).toEqual([]);
  });
});
