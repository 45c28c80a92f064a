import { env } from "cloudflare:workers";
import { decodeBlockchainIdentifier } from "../../../src/chain/contracts/blockchain-identifier.ts";
import { openDb } from "../../../src/db/client.ts";
import { startBackfill } from "../../../src/sources/cursor.ts";
import type { StepResult, TestChain } from "../chain.ts";
import { addWallet } from "./sync.ts";

const LOCKS_PER_TRANSACTION = 10;

/** Locks escrows, many in each transaction, named `name-0`, `name-1`, …. */
export function lockMany(name: string, count: number) {
  const orders = Array.from({ length: count }, (_, i) => ({
    as: `${name}-${i}`,
    version: "Web3ChainV1",
    funds: [{ unit: "", amount: "4000000" }],
  }));
  const transactions = Math.ceil(count / LOCKS_PER_TRANSACTION);
  return Array.from({ length: transactions }, (_, i) => ({
    do: "lockAll",
    orders: orders.slice(i * LOCKS_PER_TRANSACTION, (i + 1) * LOCKS_PER_TRANSACTION),
  }));
}

/** What the seller signs besides the nonces, the same for every order that names it. */
const HOUR_MS = 3_600_000;
const begun = Date.now();
const SIGNED_TIMES = {
  payByTime: String(begun + HOUR_MS),
  submitResultTime: String(begun + 2 * HOUR_MS),
  unlockTime: String(begun + 8 * HOUR_MS),
  externalDisputeUnlockTime: String(begun + 14 * HOUR_MS),
};

/** A lock whose terms another buyer can lock as well, under the same identifier: `lockSame`. */
export function lockSigned(as: string, buyer: string) {
  return { do: "lock", as, version: "Web3ChainV1", buyer, ...SIGNED_TIMES };
}

/** Another buyer's lock under the identifier of a `lockSigned`; the seller's signature holds for both. */
export function lockSame(first: StepResult | undefined, as: string, buyer: string) {
  return { ...lockSigned(as, buyer), datum: copiedFrom(first) };
}

/** What anyone can read of an escrow from the chain and put into a datum of their own. */
export function copiedFrom(step: StepResult | undefined) {
  const parts = decodeBlockchainIdentifier(step?.escrows[0]?.identifier ?? "");
  return {
    sellerNonce: parts?.sellerId.slice(0, 64) ?? "",
    agentIdentifier: parts?.agentIdentifier ?? null,
    buyerNonce: parts?.buyerNonce ?? "",
    referenceSignature: parts?.signature ?? "",
    referenceKey: parts?.key ?? "",
  };
}

/** Adds every actor of a kind, or one of them, to a source, as PATCH does. */
export async function addWallets(
  chain: TestChain,
  source: string,
  who: "buyer" | "seller" | `buyer-${number}`,
) {
  const { wallets } = await chain.wallets();
  const role = who === "seller" ? "Selling" : "Purchasing";
  const added = wallets.filter(({ name }) => name.startsWith(who));
  await openDb(env).batch([
    ...added.map((one) => addWallet(source, one)),
    startBackfill(
      source,
      added.map(({ vkey }) => ({ role, vkey })),
    ),
  ]);
}

/** Records of a source by side. */
export async function sides(source: string): Promise<Record<string, number>> {
  const rows = await openDb(env).all<{ side: string; n: number }>(
    "SELECT side, count(*) AS n FROM escrow WHERE source_id = ? GROUP BY side",
    source,
  );
  return Object.fromEntries(rows.map(({ side, n }) => [side, n]));
}
