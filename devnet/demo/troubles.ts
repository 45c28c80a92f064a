/**
 * Troubles of `npm start -- --troubles`, which an operator ends in the console. An endpoint lost events, a wallet is
 * low, and a payment source has a second chain provider.
 */
import { type ApiAccess, ask } from "../client/api.ts";
import type { Chain } from "../ledger/chain.ts";
import { buildTransaction } from "./actors/transaction.ts";
import { STRANGER } from "./actors/wallets.ts";
import type { Receiver } from "./receiver.ts";

const COIN = 1_000_000n;
const LOW_BALANCE = 12n * COIN;
const THRESHOLD = 15n * COIN;
const RESERVE = 1_000n * COIN;
const INBOX = "/lossy";
/** More events than a demo has. */
const MAX_EVENTS = 10_000;

interface Source {
  id: string;
  paymentSourceType: string;
}

/**
 * Makes the troubles.
 *
 * @param mirror - base URL of a second provider of the chain
 * @throws when the service or the ledger refuses.
 */
export async function makeTroubles(
  service: ApiAccess,
  chain: Chain,
  receiver: Receiver,
  mirror: string,
): Promise<void> {
  const path = "/payment-source-extended";
  const { ExtendedPaymentSources: sources } = await ask<{ ExtendedPaymentSources: Source[] }>(
    service,
    "GET",
    `${path}?network=Preprod`,
  );
  const idOf = (type: string) => sources.find((one) => one.paymentSourceType === type)?.id;
  const provider = { rpcProvider: "Blockfrost", url: mirror, rpcProviderApiKey: "mirror" };
  await Promise.all([
    addLossyEndpoint(service, receiver),
    addLowWallet(service, chain, idOf("Web3ChainV1")),
    ask(service, "PATCH", path, { id: idOf("Web3ChainV2"), RpcProviders: [provider] }),
  ]);
}

/** An endpoint that is disabled by its first event. Its receiver takes each later one, and that one sent again. */
async function addLossyEndpoint(service: ApiAccess, receiver: Receiver): Promise<void> {
  const url = `${receiver.url}${INBOX}`;
  const plan = [["answer=410"], ...Array.from({ length: MAX_EVENTS }, () => [])];
  await fetch(url, { method: "PUT", body: JSON.stringify(plan) });
  const Events = ["PAYMENT_ON_CHAIN_STATUS_CHANGED", "PURCHASE_ON_CHAIN_STATUS_CHANGED"];
  const body = { url, name: "Lossy receiver", Events };
  const { secret } = await ask<{ secret: string }>(service, "POST", "/webhooks", body);
  receiver.trust(INBOX, secret);
}

/** A wallet below its threshold, and a Funding wallet that can fill it up. */
async function addLowWallet(
  service: ApiAccess,
  chain: Chain,
  paymentSourceId: string | undefined,
): Promise<void> {
  const add = (walletType: string, note: string) =>
    ask<{ walletAddress: string; Wallet: { id: string } }>(service, "POST", "/wallet", {
      ...{ network: "Preprod", paymentSourceId, walletType, note, drives: "all" },
    });
  const [low, reserve] = await Promise.all([
    add("Selling", "Nearly empty"),
    add("Funding", "Reserve"),
  ]);
  const outputs = [
    { address: low.walletAddress, funds: [{ unit: "", amount: LOW_BALANCE }] },
    { address: reserve.walletAddress, funds: [{ unit: "", amount: RESERVE }] },
  ];
  chain.submit(buildTransaction(chain, { payer: STRANGER, outputs }));
  const rule = { walletId: low.Wallet.id, thresholdAmount: String(THRESHOLD) };
  await ask(service, "POST", "/wallet/low-balance", rule);
}
