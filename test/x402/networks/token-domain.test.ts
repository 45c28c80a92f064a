import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { answering, SettlementFixture } from "../settlement-fixture.ts";
import { api } from "../x402-fixture.ts";

let fixture: SettlementFixture;

beforeAll(async () => {
  await emptyTables();
  fixture = await SettlementFixture.open("84532-domain");
});
afterEach(() => vi.unstubAllGlobals());

interface Registered {
  id: string;
  Warnings?: string[];
}

async function register(extra?: object) {
  const body = {
    url: "https://api.example.com/data",
    caip2Network: fixture.x402.caip2,
    amount: "10000",
    payTo: fixture.source.payTo,
    ...(extra && { extra }),
  };
  const { status, data } = await api<Registered>("/x402/payment-sources", body);
  expect(status).toBe(200);
  return data;
}

/** Has the token return something else as its domain separator. */
function withSeparator(answer: object): void {
  fixture.onRpc((sent) =>
    answering(sent, ({ method, params }) => {
      const [{ data }] = params as [{ data?: string }];
      return method === "eth_call" && data === "0x3644e515" ? answer : undefined;
    }),
  );
}

const WARNING = /^asset: .*DOMAIN_SEPARATOR\(\).*EIP-3009/;

describe("POST /x402/payment-sources", () => {
  it("gives no warning for a token whose domain is that of its terms", async () => {
    expect((await register()).Warnings).toEqual([]);
    expect((await register({ name: "Test Dollar", version: "1" })).Warnings).toEqual([]);
  });

  it.each([{ name: "Test dollar" }, { version: "2" }])(
    "warns of terms with another domain: %o",
    async (extra) => {
      expect((await register(extra)).Warnings).toEqual([expect.stringMatching(WARNING)]);
    },
  );

  it("warns of a token with another kind of domain, such as one with a salt", async () => {
    withSeparator({ result: `0x${"5a".repeat(32)}` });
    const { id, Warnings } = await register();
    expect(Warnings).toEqual([expect.stringMatching(WARNING)]);
    for (const warning of Warnings ?? []) expect(warning.length).toBeLessThanOrEqual(200);
    const { data } = await api<{ PaymentSources: Registered[] }>("/x402/payment-sources");
    expect(data.PaymentSources.map((source) => source.id)).toContain(id);
  });

  it.each([
    { error: { code: 3, message: "execution reverted" } },
    { result: "0x" },
    { result: "0x00" },
  ])("gives no warning for a token that does not say its domain: %o", async (answer) => {
    withSeparator(answer);
    expect((await register()).Warnings).toEqual([]);
  });
});
