import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { facilitate } from "../facilitator.ts";
import { answering, SettlementFixture } from "../settlement-fixture.ts";
import { api } from "../x402-fixture.ts";

/** What a wallet sends in eight blocks. */
const MAX_OPEN = 512;

let fixture: SettlementFixture;

beforeEach(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-backlog");
});
afterEach(() => vi.unstubAllGlobals());

async function openSettlements(count: number, caip2Id = fixture.x402.caip2): Promise<void> {
  const insert = env.DB.prepare(
    `INSERT INTO x402_payment_attempt
       (id, direction, status, caip2_id, asset, amount, pay_to, payment_payload_hash, claim,
        charged, revision, created_at, updated_at)
     VALUES (?1, 'InboundSettle', 'Verified', ?2, '0x1', '1', '0x2', ?1, ?1, 0, 0, 0, 0)`,
  );
  const ids = Array.from({ length: count }, (_, n) => `${caip2Id} ${n}`);
  await env.DB.batch(ids.map((id) => insert.bind(id, caip2Id)));
}

/** A node that estimates no gas, so that the wallet signs nothing. */
const withoutEstimates = (sent: Parameters<typeof answering>[0]) =>
  answering(sent, ({ method }) =>
    method === "eth_estimateGas"
      ? { error: { code: -32005, message: "limit exceeded" } }
      : undefined,
  );

const verify = () => {
  const body = { supportedPaymentSourceId: fixture.source.id, paymentPayload: fixture.payment };
  return api<{ isValid: boolean }>("/x402/verify", body);
};

describe("verifying while many settlements are open", () => {
  it("is refused with 429 and leaves no attempt, until fewer are open", async () => {
    await openSettlements(MAX_OPEN);
    const plain = await facilitate("verify", fixture.payment);
    const ours = await verify();
    for (const { status, headers } of [plain, ours]) {
      expect(status).toBe(429);
      expect(headers.get("retry-after")).toMatch(/^\d+$/);
    }
    const listed =
      "SELECT count(*) AS n FROM x402_payment_attempt WHERE direction = 'InboundVerify'";
    expect(await env.DB.prepare(listed).first("n")).toBe(0);
    await env.DB.prepare("DELETE FROM x402_payment_attempt WHERE id LIKE '% 0'").run();
    expect((await facilitate("verify", fixture.payment)).body).toMatchObject({ isValid: true });
    expect((await verify()).data).toMatchObject({ isValid: true });
  });

  it("goes on for other chains, and what was verified before settles", async () => {
    await openSettlements(MAX_OPEN, "eip155:1");
    expect((await facilitate("verify", fixture.payment)).body).toMatchObject({ isValid: true });
    await openSettlements(MAX_OPEN);
    expect((await facilitate("settle", fixture.payment)).body).toMatchObject({ success: true });
  });
});

describe("a settlement that the wallet cannot sign while its caller waits", () => {
  it("is stored and pending when it was verified here, and settles later", async () => {
    await fixture.beImpatient();
    expect((await verify()).data).toMatchObject({ isValid: true });
    fixture.onRpc(withoutEstimates);
    const { status, headers, data } = await fixture.settle();
    expect({ status, data }).toMatchObject({
      status: 200,
      data: { settleResponse: { success: false, errorReason: "settlement_pending" } },
    });
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    vi.unstubAllGlobals();
    await fixture.expectSettledOnce();
  });

  it("fails when it was not verified here", async () => {
    await fixture.beImpatient();
    fixture.onRpc(withoutEstimates);
    expect((await fixture.settleDecided()).data.settleResponse).toMatchObject({
      success: false,
      errorReason: "unexpected_settle_error",
    });
    vi.unstubAllGlobals();
    await fixture.expectFailedOnce("unexpected_settle_error");
  });
});
