/** Somebody who has a service trade with its own wallets: agents, quotes, purchases and transfers. */
import { generateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { deriveWalletKeys } from "../../src/chain/wallet-keys.ts";
import { type ApiAccess, ask } from "../client/api.ts";
import { until } from "../client/wait.ts";
import { buildTransaction } from "../demo/actors/transaction.ts";
import { STRANGER } from "../demo/actors/wallets.ts";
import type { Shop } from "../demo/trade.ts";
import type { Chain } from "../ledger/chain.ts";

const NETWORK = "Preprod";
const TRANSFERRED = 2_000_000n;
const FUNDS = 50_000_000_000n;
const OUTPUTS = 4;

interface Source {
  id: string;
  paymentSourceType: PaymentSourceType;
}

/** A wallet that the service manages and that nobody else has the words of. */
interface TradingWallet {
  words: string;
  address: string;
  vkey: string;
}

/** A payment source with the trader's wallets, and an agent of theirs. */
export interface Stall extends Shop {
  source: Source;
  seller: TradingWallet;
  buyer: TradingWallet;
}

export interface Transferred {
  toAddress: string;
  amount: bigint;
}

/** A stall in each payment source. The sources' other wallets stand still: the drill counts what its own do. */
export async function openStalls(
  admin: ApiAccess,
  chain: Chain,
  agentUrl: string,
): Promise<Stall[]> {
  const path = "/payment-source-extended";
  const { ExtendedPaymentSources: sources } = await ask<{ ExtendedPaymentSources: Source[] }>(
    admin,
    "GET",
    `${path}?network=${NETWORK}`,
  );
  const { Wallets } = await ask<{ Wallets: { id: string }[] }>(
    admin,
    "GET",
    "/wallet/list?limit=100",
  );
  for (const { id } of Wallets) await ask(admin, "PATCH", "/wallet", { id, drives: "nothing" });
  const stalls: Stall[] = [];
  for (const source of sources) {
    await ask(admin, "PATCH", path, { id: source.id, drives: "all" });
    const seller = await addWallet(admin, chain, source, "Selling");
    const buyer = await addWallet(admin, chain, source, "Purchasing");
    const { id } = await register(admin, seller, `Agent of ${source.paymentSourceType}`, agentUrl);
    const { paymentSourceType } = source;
    stalls.push({
      source,
      seller,
      buyer,
      paymentSourceType,
      agentIdentifier: await registered(admin, id),
    });
  }
  return stalls;
}

/** Asks for an agent of a selling wallet. */
export function register(
  admin: ApiAccess,
  { vkey }: Pick<TradingWallet, "vkey">,
  name: string,
  agentUrl: string,
  post: typeof ask = ask,
): Promise<{ id: string }> {
  return post(admin, "POST", "/registry", {
    network: NETWORK,
    sellingWalletVkey: vkey,
    name,
    description: "An agent of the drill.",
    apiBaseUrl: `${agentUrl}/${name.toLowerCase().replaceAll(" ", "-")}`,
    Tags: ["drill"],
    Capability: { name: "drill", version: "1.0.0" },
    Author: { name: "The drill" },
    AgentPricing: { pricingType: "Fixed", Pricing: [{ unit: "", amount: "5000000" }] },
  });
}

/** Waits until an agent is on the chain. */
export async function registered(admin: ApiAccess, id: string): Promise<string> {
  const look = async () => {
    const { Assets } = await ask<{ Assets: { state: string; agentIdentifier: string }[] }>(
      admin,
      "GET",
      `/registry?network=${NETWORK}&searchQuery=${id}`,
    );
    return Assets[0]?.state === "RegistrationConfirmed" && Assets[0].agentIdentifier;
  };
  return until(look, { what: "an agent on the chain" });
}

/** Has a buyer's wallet pay an address that nobody else pays. */
export async function transfer(
  admin: ApiAccess,
  { buyer }: { buyer: { address: string } },
  post: typeof ask = ask,
): Promise<Transferred> {
  const { address: toAddress } = await deriveWalletKeys(generateMnemonic(wordlist, 256), NETWORK);
  await post(admin, "POST", "/wallet/transfer-funds", {
    fromWalletAddress: buyer.address,
    toAddress,
    minorUnitAmount: String(TRANSFERRED),
  });
  return { toAddress, amount: TRANSFERRED };
}

async function addWallet(
  admin: ApiAccess,
  chain: Chain,
  { id }: Source,
  walletType: "Selling" | "Purchasing",
): Promise<TradingWallet> {
  const words = generateMnemonic(wordlist, 256);
  const { address, vkey } = await deriveWalletKeys(words, NETWORK);
  const funds = [{ unit: "", amount: FUNDS }];
  const outputs = Array.from({ length: OUTPUTS }, () => ({ address, funds }));
  chain.submit(buildTransaction(chain, { payer: STRANGER, outputs }));
  await ask(admin, "POST", "/wallet", {
    network: NETWORK,
    paymentSourceId: id,
    walletType,
    walletMnemonic: words,
    note: "drill",
    drives: "all",
  });
  return { words, address, vkey };
}
