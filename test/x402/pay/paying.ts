import type { PaymentRequirements } from "../../../src/x402/model/schemas.ts";
import { api, expectOk, type Payload, type X402Fixture } from "../x402-fixture.ts";

export interface Wallet {
  id: string;
  caip2Network: string;
  address: string;
  type: string;
  note: string | null;
  createdById: string;
  privateKey: string | null;
}

/** What POST /x402/pay answers. */
export interface Paid {
  attemptId: string;
  payer: string;
  caip2Network: string;
  asset: string;
  amount: string;
  payTo: string;
  xPaymentHeader: string;
  paymentPayload: Payload;
  paymentPayloadHash: string;
  paymentIdentifier: string | null;
}

export interface Budget {
  id: string;
  apiKeyId: string;
  evmWalletId: string;
  asset: string;
  remainingAmount: string;
  spentAmount: string;
  isEnabled: boolean;
  createdAt: string;
}

type Headers = Record<string, string>;
/** The EIP-712 domain of the x402's tokens. */
export const DOMAIN = { name: "Test Dollar", version: "1" };
const PAYEE = "0x209693bc6afc0c5328ba36faf03c514ef312287c";

/** A managed wallet that pays, with tokens in it; the administrator's unless told otherwise. */
export async function purse(x402: X402Fixture, headers: Headers = {}, amount = 10n ** 12n) {
  const body = { caip2Network: x402.caip2, type: "Purchasing" };
  const wallet = await expectOk(await api<Wallet>("/x402/wallets", body, headers));
  await x402.mint(x402.contracts.token, wallet.address, amount);
  return wallet;
}

/** What a resource asks: a hundred of the x402's token by EIP-3009, unless told otherwise. */
export function terms(
  x402: X402Fixture,
  over: Partial<PaymentRequirements> = {},
): PaymentRequirements {
  return {
    scheme: "exact",
    network: x402.caip2,
    amount: "100",
    asset: x402.contracts.token,
    payTo: PAYEE,
    maxTimeoutSeconds: 300,
    extra: DOMAIN,
    ...over,
  };
}

/** A body of POST /x402/pay. */
export function order(
  wallet: { id: string },
  accepts: PaymentRequirements[],
  over: { extensions?: object } & Record<string, unknown> = {},
) {
  const { extensions, ...rest } = over;
  const resource = { url: "https://api.example.com/data", description: "Data, by the piece" };
  const paymentRequired = { x402Version: 2, resource, accepts, ...(extensions && { extensions }) };
  return { evmWalletId: wallet.id, paymentRequired, ...rest };
}

/** POST /x402/pay, with a new Idempotency-Key unless `headers` has one. */
export function pay(body: object, headers: Headers = {}) {
  return api<Paid>("/x402/pay", body, { "idempotency-key": crypto.randomUUID(), ...headers });
}

/** POST /x402/budgets, as the administrator. */
export function grant(
  x402: X402Fixture,
  apiKeyId: string,
  wallet: { id: string },
  remainingAmount: string,
  over: object = {},
  headers: Headers = {},
) {
  const asset = x402.contracts.token;
  const body = { apiKeyId, evmWalletId: wallet.id, asset, remainingAmount, ...over };
  return api<Budget>("/x402/budgets", body, headers);
}

/** The only budget of a key. */
export async function budgetOf(apiKeyId: string): Promise<Budget | undefined> {
  const { data } = await api<{ Budgets: Budget[] }>("/x402/budgets?limit=100");
  return data.Budgets.find((budget) => budget.apiKeyId === apiKeyId);
}
