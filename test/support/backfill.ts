import { env } from "cloudflare:workers";
import { db } from "../../src/db/client.ts";
import { startBackfill } from "../../src/sources/cursor.ts";
import type { TestChain } from "./chain.ts";
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

/** Adds every actor of a kind to a source, as PATCH does. */
export async function addWallets(chain: TestChain, source: string, kind: "buyer" | "seller") {
  const { wallets } = await chain.wallets();
  const role = kind === "buyer" ? "Purchasing" : "Selling";
  const added = wallets.filter(({ name }) => name.startsWith(`${kind}-`));
  await db(env).batch([
    ...added.map((one) => addWallet(source, one)),
    startBackfill(
      source,
      added.map(({ vkey }) => ({ role, vkey })),
    ),
  ]);
}

/** Records of a source by side. */
export async function sides(source: string): Promise<Record<string, number>> {
  const rows = await db(env).all<{ side: string; n: number }>(
    "SELECT side, count(*) AS n FROM escrow WHERE source_id = ? GROUP BY side",
    source,
  );
  return Object.fromEntries(rows.map(({ side, n }) => [side, n]));
}
