import { and, asc, eq, isNull } from "drizzle-orm";
import type * as z from "zod";
import type { Network } from "../chain/network.ts";
import { openDb } from "../db/client.ts";
import { mayUseWallet } from "../http/authenticate.ts";
import type { AppContext } from "../http/context.ts";
import { isCurrentPolicy } from "../sources/contracts/templates.ts";
import { readSyncStatuses, type SyncStatus } from "../sources/cursor.ts";
import type { SourceRow } from "../sources/source-row.ts";
import { paymentSource } from "../sources/tables.ts";
import { listActiveWallets } from "../wallets/managed/find-wallet.ts";
import type { WalletRole, WalletRow } from "../wallets/managed/tables.ts";
import { type ChainReadiness, listEnabledChains } from "../x402/networks/settlement-network.ts";
import { CHAIN_CHECKS, type railCheck, type readiness, X402_CHECKS } from "./schemas.ts";

type Rail = z.input<typeof readiness>["Rails"][number];

/** A source that was not read for so long has no chain provider that answers. */
const SYNC_MAX_AGE_MS = 15 * 60_000;

/** What purchases do without. */
const SELLER_CHECK_ID: Check["id"] = "chain.selling_wallet";

/**
 * Whether escrows of Web3ChainV2 can be quoted and bought on a network, from what is stored: nothing is
 * asked of the chain provider. A key that is bound to wallets sees those and their sources.
 *
 * @param now - epoch milliseconds
 */
export async function readChainRail(c: AppContext, network: Network, now: number): Promise<Rail> {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const all = await core.orm
    .select()
    .from(paymentSource)
    .where(
      and(
        eq(paymentSource.network, network),
        eq(paymentSource.type, "Web3ChainV2"),
        isNull(paymentSource.deletedAt),
      ),
    )
    .orderBy(asc(paymentSource.id));
  const { scope } = c.var.caller;
  const ids = all.map(({ id }) => id);
  const wallets = (await listActiveWallets(core, ids)).filter(({ id }) => mayUseWallet(scope, id));
  const sources = scope?.walletIds
    ? all.filter(({ id }) => wallets.some(({ sourceId }) => sourceId === id))
    : all;
  const database = openDb(c.env, network, { deadline: c.var.deadline });
  const synced = await readSyncStatuses(database, ids, now);
  const checked = sources.map((source) => {
    const own = wallets.filter(({ sourceId }) => sourceId === source.id);
    const found = findMissingForEscrows(c, source, own, synced.get(source.id), now);
    return { source, checks: toChecks(CHAIN_CHECKS, (id) => found[id]) };
  });
  const checks =
    selectMostComplete(checked.map((one) => one.checks)) ??
    toChecks(CHAIN_CHECKS, (id) =>
      id === "chain.payment_source"
        ? "There is no payment source of Web3ChainV2"
        : "There is no payment source",
    );
  return {
    rail: "ChainV2",
    isReady: isComplete(checks),
    Checks: checks,
    PurchaseSources: checked.map(({ source, checks }) => {
      const forBuyers = checks.filter(({ id }) => id !== SELLER_CHECK_ID);
      return {
        policyId: source.policyId,
        smartContractAddress: source.contractAddress,
        isPurchaseReady: isComplete(forBuyers),
        Checks: forBuyers,
      };
    }),
  };
}

function findMissingForEscrows(
  c: AppContext,
  source: SourceRow,
  wallets: readonly WalletRow[],
  synced: SyncStatus | undefined,
  now: number,
): Record<keyof typeof CHAIN_CHECKS, Finding> {
  return {
    "chain.payment_source": null,
    "chain.contract_current": isCurrentPolicy(c.env, source)
      ? null
      : `The policy ${source.policyId} is not that of the current deployment`,
    "chain.rpc_provider": findMissingSync(synced, now),
    "chain.admin_signatures": findMissingSignatures(source),
    "chain.selling_wallet": findMissingWallet(wallets, "Selling"),
    "chain.purchasing_wallet": findMissingWallet(wallets, "Purchasing"),
    "chain.payments_enabled":
      source.drives === "all" ? null : `The payment source's drives is ${source.drives}`,
  };
}

/** Why the last sync failed may hold what is not for everybody: it stands in the sources' own list. */
function findMissingSync(synced: SyncStatus | undefined, now: number): Finding {
  const at = synced?.lastCheckedAt ?? null;
  if (at === null) return "The chain was not read yet";
  if (now - at > SYNC_MAX_AGE_MS) return `The chain was last read at ${new Date(at).toISOString()}`;
  return synced?.error ? "The chain could not be read the last time" : null;
}

function findMissingSignatures({
  requiredAdminSignatures: needed,
  adminWallets,
}: SourceRow): Finding {
  const administrators = JSON.parse(adminWallets).length;
  if (needed === null) return "The number of signatures that a dispute needs is not known";
  if (needed < 1 || needed > administrators)
    return `A dispute needs ${needed} signatures of ${administrators} administrators`;
  return null;
}

function findMissingWallet(wallets: readonly WalletRow[], role: WalletRole): Finding {
  const own = wallets.filter((wallet) => wallet.role === role);
  if (own.length === 0) return `There is no ${role.toLowerCase()} wallet`;
  if (own.some(({ drives }) => drives === "all")) return null;
  return `No ${role.toLowerCase()} wallet's drives is all`;
}

/** Whether something that a rail needs is there. */
type Check = z.input<typeof railCheck>;

/** What a check finds missing; null: nothing. */
type Finding = string | null;

/**
 * Checks as they are shown.
 *
 * @param labels - what each check is about, by its id
 * @param findMissing - what each finds missing
 */
function toChecks<Id extends string>(
  labels: Readonly<Record<Id, string>>,
  findMissing: (id: Id) => Finding,
): Check[] {
  return (Object.keys(labels) as Id[]).map((id) => {
    const detail = findMissing(id);
    return { id: id as Check["id"], label: labels[id], isComplete: detail === null, detail };
  });
}

function isComplete(checks: readonly Check[]): boolean {
  return checks.every((check) => check.isComplete);
}

/** Of several ways to use a rail the one that lacks least, the first of equals. */
function selectMostComplete(candidates: readonly Check[][]): Check[] | undefined {
  const countIncomplete = (checks: Check[]) => checks.filter((check) => !check.isComplete).length;
  return candidates.toSorted((a, b) => countIncomplete(a) - countIncomplete(b))[0];
}

/** Whether x402 payments can be taken and made on an EVM chain that goes with a network. */
export async function readX402Rail(c: AppContext, network: Network): Promise<Rail> {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const chains = await listEnabledChains(core, network);
  const checked = chains.map((chain) => {
    const found = findMissingForX402(chain);
    return toChecks(X402_CHECKS, (id) => found[id]);
  });
  const checks =
    selectMostComplete(checked) ??
    toChecks(X402_CHECKS, (id) =>
      id === "x402.enabled_chain"
        ? `No ${network === "Preprod" ? "test chain" : "chain"} is enabled`
        : "There is no enabled chain",
    );
  return { rail: "X402", isReady: isComplete(checks), Checks: checks };
}

function findMissingForX402(chain: ChainReadiness): Record<keyof typeof X402_CHECKS, Finding> {
  const { caip2Id } = chain;
  const missingUnless = (is: boolean, missing: string) =>
    is ? null : `${caip2Id} has no ${missing}`;
  return {
    "x402.enabled_chain": null,
    "x402.rpc_url": missingUnless(chain.hasRpcUrl, "RPC node"),
    "x402.facilitator": missingUnless(chain.hasFacilitator, "facilitator wallet"),
    "x402.selling_wallet": missingUnless(chain.hasSellingWallet, "wallet of the type Selling"),
    "x402.purchasing_wallet": missingUnless(
      chain.hasPurchasingWallet,
      "wallet of the type Purchasing",
    ),
    "x402.budget": missingUnless(chain.hasBudget, "budget for a wallet that pays"),
  };
}
