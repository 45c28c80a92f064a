/** Wallets of the browser that sign proposals, as CIP-30 has them on `window.cardano`. */
import { at, textAt } from "../../ui/path.ts";
import type { Helper } from "../../ui/resource.ts";

/** What is used of an enabled wallet; addresses are bytes in hex. */
interface Api {
  getUsedAddresses(): Promise<string[]>;
  getUnusedAddresses(): Promise<string[]>;
  getChangeAddress(): Promise<string>;
  signData(address: string, payload: string): Promise<{ signature: string; key: string }>;
  signTx(transaction: string, isPart: boolean): Promise<string>;
}

interface Wallet {
  name: string;
  enable(): Promise<Api>;
}

/** Each wallet that the browser has, as what fills in a proposal's signature. */
export function browserWallets(row: unknown): readonly Helper[] {
  const found = (globalThis as { cardano?: Record<string, Wallet> }).cardano ?? {};
  return Object.values(found)
    .filter((one) => typeof one?.enable === "function" && typeof one.name === "string")
    .map((wallet) => ({
      label: `Sign with ${wallet.name}`,
      fill: () => signed(wallet, row),
    }));
}

async function signed(wallet: Wallet, row: unknown): Promise<Record<string, string>> {
  try {
    const api = await wallet.enable();
    const transaction = textAt(row, "Proposal.unsignedTxCbor");
    if (transaction !== "") return { signature: await api.signTx(transaction, true), key: "" };
    const address = await administratorOf(api, row);
    return { ...(await api.signData(address, textAt(row, "Proposal.message"))) };
  } catch (error) {
    // Wallets throw objects of their own: `info` is their text.
    const why = textAt(error, "info") || textAt(error, "message") || "it gave no reason";
    throw new Error(`${wallet.name}: ${why}`);
  }
}

/** A byte of network and kind comes before the payment key hash. */
const KEY_HASH = [2, 58] as const;

/** An address of the wallet whose key is an administrator's. */
async function administratorOf(api: Api, row: unknown): Promise<string> {
  const administrators = at(row, "Proposal.Administrators") as string[];
  const addresses = await Promise.all([
    api.getChangeAddress(),
    api.getUsedAddresses(),
    api.getUnusedAddresses(),
  ]);
  const own = addresses.flat().find((one) => administrators.includes(one.slice(...KEY_HASH)));
  if (own === undefined) throw new Error("none of its addresses is an administrator's");
  return own;
}
