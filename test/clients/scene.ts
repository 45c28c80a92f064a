/** A service with the peer's names, on a local chain with the escrows that the calls need. */

import { entropyToMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { ask } from "../../devnet/client/api.ts";
import { until } from "../../devnet/client/wait.ts";
import { act, lock } from "../../devnet/demo/actors/actions.ts";
import type { Escrow } from "../../devnet/demo/actors/escrow.ts";
import { publishScripts } from "../../devnet/demo/actors/publish.ts";
import { CASTS, type Wallet } from "../../devnet/demo/actors/wallets.ts";
import { handOver } from "../../devnet/demo/sources.ts";
import { EvmUnavailable } from "../../devnet/evm/node.ts";
import type { Chain } from "../../devnet/ledger/chain.ts";
import { freshSecrets } from "../../devnet/secrets.ts";
import type { X402Scene } from "../../devnet/service.ts";
import { type Service, startService } from "../../devnet/service.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { deriveWalletKeys } from "../../src/chain/wallet-keys.ts";

export type Access = { url: string; token: string };

/** What the calls are made with. */
export interface Scene {
  service: Service;
  access: Access;
  x402: X402Scene;
  /** Who trades on each contract. */
  parties: Record<PaymentSourceType, { seller: Wallet; buyer: Wallet; otherSeller: Wallet }>;
  escrows: Record<EscrowName, Escrow>;
  close(): Promise<void>;
}

/** A managed seller that has nothing to pay a transaction with. */
export const POOR = await makePoorSeller();

async function makePoorSeller(): Promise<Wallet> {
  const mnemonic = entropyToMnemonic(new Uint8Array(32).fill(7), wordlist);
  const keys = await deriveWalletKeys(mnemonic, "Preprod");
  return { name: "poor", mnemonic, keys, address: keys.address, vkey: keys.vkey };
}

type EscrowName = "withdrawn" | "disputed" | "contested" | "delivered" | "locked" | "poor";

const HOUR_MS = 3_600_000;
/** Long enough for a withdrawal, whose unlock time is seven hours after the lock. */
const PAST_MS = 12 * HOUR_MS;
const RECENTLY_MS = 2 * HOUR_MS;
const JUST_NOW_MS = 5 * 60_000;

/**
 * Starts everything.
 *
 * @param origins - where further EVM nodes are
 * @throws when there is no EVM node for this machine.
 */
export async function startScene(origins: readonly string[] = []): Promise<Scene> {
  const variables = { ...freshSecrets(), WIRE_NAMES: "cardano", AUTO_WITHDRAW_REFUNDS: "false" };
  const service = await startService({
    variables,
    hasActors: true,
    begins: Date.now() - PAST_MS,
    log: () => {},
    origins,
  });
  const access = { url: service.url, token: variables.ADMIN_KEY };
  try {
    if (service.x402 instanceof EvmUnavailable) throw service.x402;
    const { chain, x402 } = service;
    publishScripts(chain);
    const parties = {
      Web3ChainV1: partiesOf("Web3ChainV1"),
      Web3ChainV2: partiesOf("Web3ChainV2"),
    };
    const escrows = playEscrows(chain, parties);
    chain.moveTo(Date.now());
    service.goLive();
    await addPoorSeller(access);
    await handOver(access);
    await until(() => hasRecords(access), { what: "the records of the escrows" });
    return { service, access, x402, parties, escrows, close: () => service.close() };
  } catch (error) {
    await service.close();
    throw error;
  }
}

/** Escrows of Web3ChainV1, each in the state of its name; the service submits what comes next. */
function playEscrows(chain: Chain, { Web3ChainV1 }: Scene["parties"]) {
  const order = { version: "Web3ChainV1", ...Web3ChainV1 } as const;
  const withdrawn = act(chain, act(chain, lock(chain, order), "submitResult"), "withdraw");
  chain.moveTo(Math.max(chain.now(), Date.now() - RECENTLY_MS));
  const disputed = act(chain, act(chain, lock(chain, order), "submitResult"), "requestRefund");
  const contested = act(chain, act(chain, lock(chain, order), "submitResult"), "requestRefund");
  const delivered = act(chain, lock(chain, order), "submitResult");
  chain.moveTo(Math.max(chain.now(), Date.now() - JUST_NOW_MS));
  const locked = lock(chain, order);
  const ofPoor = lock(chain, { ...order, seller: POOR });
  return { withdrawn, disputed, contested, delivered, locked, poor: ofPoor };
}

/** Gives the source of Web3ChainV1 a seller whose wallet holds nothing. */
async function addPoorSeller(access: Access): Promise<void> {
  const { ExtendedPaymentSources } = await ask<{
    ExtendedPaymentSources: { id: string; paymentSourceType: string }[];
  }>(access, "GET", "/payment-source-extended?network=Preprod");
  const source = ExtendedPaymentSources.find((one) => one.paymentSourceType === "Web3CardanoV1");
  await ask(access, "PATCH", "/payment-source-extended", {
    id: source?.id,
    AddSellingWallets: [{ walletMnemonic: POOR.mnemonic, note: "Poor", drives: "all" }],
  });
}

async function hasRecords(access: Access): Promise<boolean> {
  const { total } = await ask<{ total: number }>(access, "GET", "/payment/count?network=Preprod");
  return total >= 5;
}

function partiesOf(type: PaymentSourceType) {
  const {
    sellers: [seller, otherSeller],
    buyers: [buyer],
  } = CASTS[type];
  if (!seller || !otherSeller || !buyer) throw new Error("the demo has nobody to trade");
  return { seller, otherSeller, buyer };
}
