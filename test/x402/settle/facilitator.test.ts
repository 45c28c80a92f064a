import { beforeAll, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { facilitate } from "../facilitator.ts";
import { type Attempt, SettlementFixture } from "../settlement-fixture.ts";
import { api } from "../x402-fixture.ts";

let fixture: SettlementFixture;

beforeAll(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-facilitator");
});

type Listed = Attempt & { direction: string; resource: string | null };

async function attempts(): Promise<Listed[]> {
  const path = "/x402/payments?take=100";
  const { data } = await api<{ PaymentAttempts: Listed[] }>(path);
  return data.PaymentAttempts.filter(({ payTo }) => payTo === fixture.source.payTo);
}

describe("the plain facilitator", () => {
  it("answers invalid_network for an EVM chain that it does not know", async () => {
    await fixture.again();
    const { payment } = fixture;
    const elsewhere = { ...payment.accepted, network: "eip155:424242" };
    expect(await facilitate("verify", payment, elsewhere)).toMatchObject({
      status: 200,
      body: { isValid: false, invalidReason: "invalid_network" },
    });
    expect(await facilitate("settle", payment, elsewhere)).toMatchObject({
      status: 200,
      body: {
        success: false,
        errorReason: "invalid_network",
        transaction: "",
        network: "eip155:424242",
      },
    });
    expect(await attempts()).toEqual([]);
  });

  it("says when to ask again about a settlement that is in no block yet", async () => {
    const { status, headers, body } = await fixture.impatiently(
      () => facilitate("settle", fixture.payment),
      (answer) => answer.body.transaction,
      { isMining: false },
    );
    await fixture.x402.rpc("evm_setAutomine", true);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { success: false, errorReason: "settlement_pending" },
    });
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
  });

  it("records an attempt InboundVerify, and an attempt Replayed for a duplicate", async () => {
    await fixture.again();
    const { payment } = fixture;
    expect((await facilitate("verify", payment)).body).toMatchObject({ isValid: true });
    expect(await attempts()).toMatchObject([
      { direction: "InboundVerify", status: "Verified", Settlement: null },
    ]);
    const { transaction } = (await facilitate("settle", payment)).body;
    expect((await facilitate("settle", payment)).body).toMatchObject({
      success: false,
      errorReason: "duplicate_settlement",
      transaction,
    });
    const Settlement = { success: true, txHash: transaction };
    const left = await attempts();
    expect(left).toMatchObject([
      { direction: "InboundSettle", status: "Replayed", Settlement },
      { direction: "InboundSettle", status: "Settled", Settlement },
      { direction: "InboundVerify", status: "Verified", Settlement: null },
    ]);
    expect(new Set(left.map(({ id }) => id)).size).toBe(3);
  });

  it.each([
    ["of 1,980 bytes", 1_980, (url: string) => url],
    ["of 8 KiB", 8 * 1024, (url: string) => url],
    ["of more than 8 KiB", 8 * 1024 + 1, (url: string) => `${url.slice(0, 8 * 1024 - 3)}…`],
    ["of 100 KiB", 100 * 1024, (url: string) => `${url.slice(0, 8 * 1024 - 3)}…`],
  ])("settles a payment for a URL %s, and records it", async (_, length, toStored) => {
    await fixture.again();
    const url = "https://api.example.com/?q=".padEnd(length, "x");
    const payment = { ...fixture.payment, resource: { url } };
    expect((await facilitate("verify", payment)).body).toMatchObject({ isValid: true });
    expect((await facilitate("settle", payment)).body).toMatchObject({ success: true });
    const resource = toStored(url);
    expect(await attempts()).toMatchObject([{ resource }, { resource }]);
  });

  it("records why a payment cannot settle", async () => {
    await fixture.again({ amount: "99999999999999" });
    const errorReason = "invalid_exact_evm_insufficient_balance";
    expect((await facilitate("verify", fixture.payment)).body.invalidReason).toBe(errorReason);
    expect(await attempts()).toMatchObject([
      { direction: "InboundVerify", status: "Failed", errorReason },
    ]);
  });
});
