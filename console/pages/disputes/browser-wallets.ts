/** Wallets of the browser that sign proposals, as CIP-30 has them on `window.cardano`. */
import { textAt, valueAt } from "../../ui/path.ts";
import type { FormHelper } from "../../ui/resource.ts";

/** What is used of an enabled wallet; addresses are bytes in hex. */
interface WalletApi {
  getUsedAddresses(): Promise<string[]>;
  getUnusedAddresses(): Promise<string[]>;
  getChangeAddress(): Promise<string>;
  signData(address: string, payload: string): Promise<{ signature: string; key: string }>;
  signTx(transaction: string, isPart: boolean): Promise<string>;
}

interface BrowserWallet {
  name: string;
  enable(): Promise<WalletApi>;
}

/** Each wallet that the browser has, as what fills in a proposal's signature. */
export function listSigningHelpers(row: unknown): readonly FormHelper[] {
  const found = (globalThis as { cardano?: Record<string, BrowserWallet> }).cardano ?? {};
  return Object.values(found)
    .filter((one) => typeof one?.enable === "function" && typeof one.name === "string")
    .map((wallet) => ({
      label: `Sign with ${wallet.name}`,
      fill: () => signProposal(wallet, row),
    }));
}

async function signProposal(wallet: BrowserWallet, row: unknown): Promise<Record<string, string>> {
  try {
    const api = await wallet.enable();
    const transaction = textAt(row, "Proposal.unsignedTxCbor");
    if (transaction !== "") return { signature: await api.signTx(transaction, true), key: "" };
    const address = await findAdministratorAddress(api, row);
    return { ...(await api.signData(address, textAt(row, "Proposal.message"))) };
  } catch (error) {
    // Wallets throw objects of their own: `info` is their text.
    const why = textAt(error, "info") || textAt(error, "message") || "it gave no reason";
    throw new Error(`${wallet.name}: ${why}`);
  }
}

/** A byte of network and kind comes before the payment key hash. */
const KEY_HASH_RANGE = [2, 58] as const;

/** An address of the wallet whose key is an administrator's. */
async function findAdministratorAddress(api: WalletApi, row: unknown): Promise<string> {
  const administrators = valueAt(row, "Proposal.Administrators") as string[];
  const addresses = await Promise.all([
    api.getChangeAddress(),
    api.getUsedAddresses(),
    api.getUnusedAddresses(),
  ]);
  const own = addresses.flat().find((one) => administrators.includes(one.slice(...KEY_HASH_RANGE)));
  if (own === undefined) throw new Error("none of its addresses is an administrator's");
  return own;
}
