/** The demo's buyer: an agent that pays for what it fetches, within a budget. */
import type { PaymentRequirements } from "../../../src/x402/model/schemas.ts";
import { type ApiAccess, ask } from "../../client/api.ts";
import { approvePermit2, giveDollars, giveGas } from "../../evm/money.ts";
import type { EvmNode } from "../../evm/node.ts";
import { networkOf } from "./rail.ts";

/** In the token's minor unit: ten Test Dollars are there, one of them may be spent. */
const OWNED = 10_000_000n;
const BUDGET = "1000000";

/** A key that pays out of a managed wallet. */
export interface PayerAccess extends ApiAccess {
  evmWalletId: string;
}

/** How a payer transfers the token (x402, scheme `exact` on EVM). */
export type TransferMethod = "eip3009" | "permit2";

export interface Purchase {
  body: string;
  /** The PAYMENT-SIGNATURE that was sent. */
  signature: string;
  /** The PAYMENT-RESPONSE: what has become of the payment, base64. */
  settlement: string;
}

interface PaymentRequired {
  accepts: PaymentRequirements[];
}

/**
 * Buys the resource once by each method, with a key that has a budget for it.
 *
 * @throws when a part refuses.
 */
export async function playPurchases(
  admin: ApiAccess,
  node: Pick<EvmNode, "rpc" | "token">,
  resourceUrl: string,
): Promise<void> {
  const payer = await createPayer(admin, node);
  for (const method of ["eip3009", "permit2"] as const) await buy(resourceUrl, payer, method);
}

/** Makes a wallet with money and a key that has a budget for it. @throws when a part refuses. */
export async function createPayer(
  admin: ApiAccess,
  node: Pick<EvmNode, "rpc" | "token"> & { chainId?: number },
): Promise<PayerAccess> {
  const network = networkOf(node);
  const wallet = await ask<{ id: string; address: string }>(admin, "POST", "/x402/wallets", {
    caip2Network: network,
    type: "Purchasing",
    note: "Buyer of npm start",
  });
  await giveDollars(node, wallet.address, OWNED);
  await giveGas(node, wallet.address);
  await approvePermit2(node, wallet.address);
  const key = await ask<{ id: string; token: string }>(admin, "POST", "/api-key", {
    canPay: true,
    networkLimit: [network],
  });
  await ask(admin, "POST", "/x402/budgets", {
    apiKeyId: key.id,
    evmWalletId: wallet.id,
    asset: node.token,
    remainingAmount: BUDGET,
  });
  return { url: admin.url, token: key.token, evmWalletId: wallet.id };
}

/**
 * Fetches a paid resource: it requests the terms, has the service sign a payment, and requests the
 * resource again.
 *
 * @throws Error when the resource cannot be bought that way
 */
export async function buy(
  resourceUrl: string,
  payer: PayerAccess,
  method: TransferMethod,
): Promise<Purchase> {
  const unpaid = await fetch(resourceUrl);
  const terms = unpaid.headers.get("payment-required");
  if (unpaid.status !== 402 || terms === null)
    throw new Error(`${resourceUrl}: ${unpaid.status} without terms`);
  const paymentRequired = JSON.parse(Buffer.from(terms, "base64").toString()) as PaymentRequired;
  const accepts = paymentRequired.accepts.filter(
    ({ extra }) => (extra?.assetTransferMethod ?? "eip3009") === method,
  );
  const { xPaymentHeader: signature } = await ask<{ xPaymentHeader: string }>(
    payer,
    "POST",
    "/x402/pay",
    {
      evmWalletId: payer.evmWalletId,
      paymentRequired: { ...paymentRequired, accepts },
    },
  );
  const paid = await fetch(resourceUrl, { headers: { "payment-signature": signature } });
  const body = await paid.text();
  if (!paid.ok) throw new Error(`${resourceUrl}: ${paid.status} ${body}`);
  return { body, signature, settlement: paid.headers.get("payment-response") ?? "" };
}
