import { grant, purse } from "../../x402/pay/paying.ts";
import { api, expectOk, type Payload, settle, type X402Fixture } from "../../x402/x402-fixture.ts";
import { OWNER } from "./wallets.ts";

/** What the owner has on an EVM chain. */
export interface X402Resources {
  x402: X402Fixture;
  source: Awaited<ReturnType<X402Fixture["source"]>>;
  /** Payments that are signed and settled nowhere yet. */
  payments: Payload[];
  attemptId: string;
  wallet: Awaited<ReturnType<typeof purse>>;
  /** A rule that watches the wallet's balance. */
  ruleId: string;
}

export const RESOURCE_URL = "https://api.example.com/of-the-owner";

/** Has the owner sell a resource, settle a payment for it, and pay for another one. */
export async function addX402Resources(x402: X402Fixture, token: string): Promise<X402Resources> {
  const source = await x402.source({ url: RESOURCE_URL }, { token });
  const buyer = await x402.buyer();
  const payments = await Promise.all([0, 1, 2, 3, 4].map(() => x402.payment(buyer, source)));
  const [settled, ...spare] = payments;
  const { attemptId } = await expectOk(await settle(source, settled, { token }));
  // One that has nothing to pay with.
  const failing = await x402.payment(await x402.buyer(0n), source);
  await settle(source, failing, { token });
  const wallet = await purse(x402, { token });
  await expectOk(await grant(x402, OWNER, wallet, "1000"));
  const rule = { evmWalletId: wallet.id, asset: "native", threshold: "7000003" };
  const { id: ruleId } = await expectOk(await api<{ id: string }>("/x402/low-balance", rule));
  return { x402, source, payments: spare, attemptId, wallet, ruleId };
}
