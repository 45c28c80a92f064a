import { grant, purse } from "../../x402/pay/paying.ts";
import { api, expectOk, type Payload, type Rail, settle } from "../../x402/rail.ts";
import { OWNER } from "./wallets.ts";

/** What the owner has on an EVM chain. */
export interface X402Things {
  rail: Rail;
  source: Awaited<ReturnType<Rail["source"]>>;
  /** Payments that are signed and settled nowhere yet. */
  payments: Payload[];
  attemptId: string;
  wallet: Awaited<ReturnType<typeof purse>>;
}

export const RESOURCE_URL = "https://api.example.com/of-the-owner";

/** Has the owner sell a resource, settle a payment for it, and pay for another one. */
export async function addX402Things(rail: Rail, token: string): Promise<X402Things> {
  const source = await rail.source({ url: RESOURCE_URL }, { token });
  const buyer = await rail.buyer();
  const payments = await Promise.all([0, 1, 2, 3, 4].map(() => rail.payment(buyer, source)));
  const [settled, ...spare] = payments;
  const { attemptId } = await expectOk(await settle(source, settled, { token }));
  // One that has nothing to pay with.
  const failing = await rail.payment(await rail.buyer(0n), source);
  await settle(source, failing, { token });
  const wallet = await purse(rail, { token });
  await expectOk(await grant(rail, OWNER, wallet, "1000"));
  const rule = { evmWalletId: wallet.id, asset: "native", threshold: "7000003" };
  await expectOk(await api("/x402/low-balance", rule));
  return { rail, source, payments: spare, attemptId, wallet };
}
