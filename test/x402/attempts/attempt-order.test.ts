import { beforeAll, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { facilitate } from "../facilitator.ts";
import { SettlementFixture } from "../settlement-fixture.ts";
import { api } from "../x402-fixture.ts";

let fixture: SettlementFixture;

beforeAll(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-order");
});

interface Listed {
  createdAt: string;
  payTo: string;
}

async function list(query: string): Promise<Listed[]> {
  const { data } = await api<{ PaymentAttempts: Listed[] }>(`/x402/payments?${query}`);
  return data.PaymentAttempts;
}

it("lists attempts in the order of the times that it shows and filters by", async () => {
  const slow = fixture.payment;
  let isReached = false;
  let isReleased = false;
  fixture.onRpc(async ({ forward }) => {
    if (!isReached) {
      isReached = true;
      await vi.waitUntil(() => isReleased);
    }
    return forward();
  });
  const begun = facilitate("settle", slow);
  await vi.waitUntil(() => isReached);
  const start = Date.now();
  await vi.waitUntil(() => Date.now() > start);
  await fixture.again();
  expect((await facilitate("settle", fixture.payment)).body.success).toBe(true);
  isReleased = true;
  expect((await begun).body.success).toBe(true);
  vi.unstubAllGlobals();

  const [newest, oldest] = await list("direction=InboundSettle");
  expect(newest?.payTo).toBe(fixture.payment.accepted.payTo);
  expect(oldest?.payTo).toBe(slow.accepted.payTo);
  expect((newest?.createdAt ?? "") > (oldest?.createdAt ?? "")).toBe(true);
  expect(await list(`createdFrom=${newest?.createdAt}`)).toEqual([newest]);
  expect(await list(`createdTo=${newest?.createdAt}`)).toEqual([oldest]);
});
