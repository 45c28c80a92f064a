import { and, asc, eq, isNull } from "drizzle-orm";
import type * as z from "zod";
import type { Network } from "../chain/network.ts";
import { db } from "../db/client.ts";
import { mayUse } from "../http/authenticate.ts";
import type { AppContext } from "../http/context.ts";
import { isCurrentPolicy } from "../sources/contracts/templates.ts";
import { type SyncStatus, syncStatus } from "../sources/cursor.ts";
import type { SourceRow } from "../sources/record.ts";
import { paymentSource } from "../sources/tables.ts";
import { walletsOf } from "../wallets/managed/find-wallet.ts";
import type { WalletRole, WalletRow } from "../wallets/managed/tables.ts";
import { type ChainReadiness, listEnabledChains } from "../x402/networks/settlement-network.ts";
import { CHAIN_CHECKS, type railCheck, type readiness, X402_CHECKS } from "./schemas.ts";

type Rail = z.input<typeof readiness>["Rails"][number];

/** A source that was not read for so long has no chain provider that answers. */
const MAX_SILENCE_MS = 15 * 60_000;

/** What purchases do without. */
const FOR_SELLERS: Check["id"] = "chain.selling_wallet";

const NO_SOURCE: Record<keyof typeof CHAIN_CHECKS, Missing> = {
  "chain.payment_source": "There is no payment source of Web3ChainV2",
  "chain.contract_current": "There is no payment source",
  "chain.rpc_provider": "There is no payment source",
  "chain.admin_signatures": "There is no payment source",
  "chain.selling_wallet": "There is no payment source",
  "chain.purchasing_wallet": "There is no payment source",
  "chain.payments_enabled": "There is no payment source",
};

/**
 * Whether escrows of Web3ChainV2 can be quoted and bought on a network, from what is stored: nothing is
 * asked of the chain provider. A key that is bound to wallets sees those and their sources.
 *
 * @param now - epoch milliseconds
 */
export async function readChainRail(c: AppContext, network: Network, now: number): Promise<Rail> {
  const core = db(c.env, undefined, { deadline: c.var.deadline });
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
  const wallets = (await walletsOf(core, ids)).filter(({ id }) => mayUse(scope, id));
  const sources = scope?.walletIds
    ? all.filter(({ id }) => wallets.some(({ sourceId }) => sourceId === id))
    : all;
  const database = db(c.env, network, { deadline: c.var.deadline });
  const synced = await syncStatus(database, ids, now);
  const checked = sources.map((source) => {
    const own = wallets.filter(({ sourceId }) => sourceId === source.id);
    const found = missingForEscrows(c, source, own, synced.get(source.id), now);
    return { source, checks: checksOf(CHAIN_CHECKS, found) };
  });
  const checks = bestOf(checked.map((one) => one.checks)) ?? checksOf(CHAIN_CHECKS, NO_SOURCE);
  return {
    rail: "ChainV2",
    isReady: isComplete(checks),
    Checks: checks,
    PurchaseSources: checked.map(({ source, checks }) => {
      const forBuyers = checks.filter(({ id }) => id !== FOR_SELLERS);
      return {
        policyId: source.policyId,
        smartContractAddress: source.contractAddress,
        isPurchaseReady: isComplete(forBuyers),
        Checks: forBuyers,
      };
    }),
  };
}

function missingForEscrows(
  c: AppContext,
  source: SourceRow,
  wallets: readonly WalletRow[],
  synced: SyncStatus | undefined,
  now: number,
): Record<keyof typeof CHAIN_CHECKS, Missing> {
  return {
    "chain.payment_source": null,
    "chain.contract_current": isCurrentPolicy(c.env, source)
      ? null
      : `The policy ${source.policyId} is not that of the current deployment`,
    "chain.rpc_provider": silence(synced, now),
    "chain.admin_signatures": signatures(source),
    "chain.selling_wallet": driven(wallets, "Selling"),
    "chain.purchasing_wallet": driven(wallets, "Purchasing"),
    "chain.payments_enabled":
      source.drives === "all" ? null : `The payment source's drives is ${source.drives}`,
  };
}

/** Why the last sync failed may hold what is not for everybody: it stands in the sources' own list. */
function silence(synced: SyncStatus | undefined, now: number): Missing {
  const at = synced?.lastCheckedAt ?? null;
  if (at === null) return "The chain was not read yet";
  if (now - at > MAX_SILENCE_MS) return `The chain was last read at ${new Date(at).toISOString()}`;
  return synced?.error ? "The chain could not be read the last time" : null;
}

function signatures({ requiredAdminSignatures: needed, adminWallets }: SourceRow): Missing {
  const administrators = JSON.parse(adminWallets).length;
  if (needed === null) return "The number of signatures that a dispute needs is not known";
  if (needed < 1 || needed > administrators)
    return `A dispute needs ${needed} signatures of ${administrators} administrators`;
  return null;
}

function driven(wallets: readonly WalletRow[], role: WalletRole): Missing {
  const own = wallets.filter((wallet) => wallet.role === role);
  if (own.length === 0) return `There is no ${role.toLowerCase()} wallet`;
  if (own.some(({ drives }) => drives === "all")) return null;
  return `No ${role.toLowerCase()} wallet's drives is all`;
}

/** Whether something that a rail needs is there. */
type Check = z.input<typeof railCheck>;

/** What a check finds missing; null: nothing. */
type Missing = string | null;

/**
 * Checks as they are shown.
 *
 * @param labels - what each check is about, by its id
 * @param found - what each finds missing
 */
function checksOf<Id extends string>(
  labels: Readonly<Record<Id, string>>,
  found: Readonly<Record<Id, Missing>>,
): Check[] {
  return (Object.keys(labels) as Id[]).map((id) => ({
    id: id as Check["id"],
    label: labels[id],
    isComplete: found[id] === null,
    detail: found[id],
  }));
}

function isComplete(checks: readonly Check[]): boolean {
  return checks.every((check) => check.isComplete);
}

/** Of several ways to use a rail the one that lacks least, the first of equals. */
function bestOf(candidates: readonly Check[][]): Check[] | undefined {
  const lacking = (checks: Check[]) => checks.filter((check) => !check.isComplete).length;
  return candidates.toSorted((a, b) => lacking(a) - lacking(b))[0];
}

/** Whether x402 payments can be taken and made on an EVM chain that goes with a network. */
export async function readX402Rail(c: AppContext, network: Network): Promise<Rail> {
  const core = db(c.env, undefined, { deadline: c.var.deadline });
  const chains = await listEnabledChains(core, network);
  const checked = chains.map((chain) => checksOf(X402_CHECKS, missingForX402(chain)));
  const checks = bestOf(checked) ?? checksOf(X402_CHECKS, noChain(network));
  return { rail: "X402", isReady: isComplete(checks), Checks: checks };
}

function missingForX402(chain: ChainReadiness): Record<keyof typeof X402_CHECKS, Missing> {
  const { caip2Id } = chain;
  const unless = (is: boolean, missing: string) => (is ? null : `${caip2Id} has no ${missing}`);
  return {
    "x402.enabled_chain": null,
    "x402.rpc_url": unless(chain.hasRpcUrl, "RPC node"),
    "x402.facilitator": unless(chain.hasFacilitator, "facilitator wallet"),
    "x402.selling_wallet": unless(chain.hasSellingWallet, "wallet of the type Selling"),
    "x402.purchasing_wallet": unless(chain.hasPurchasingWallet, "wallet of the type Purchasing"),
    "x402.budget": unless(chain.hasBudget, "budget for a wallet that pays"),
  };
}

function noChain(network: Network): Record<keyof typeof X402_CHECKS, Missing> {
  const none = "There is no enabled chain";
  return {
    "x402.enabled_chain": `No ${network === "Preprod" ? "test chain" : "chain"} is enabled`,
    "x402.rpc_url": none,
    "x402.facilitator": none,
    "x402.selling_wallet": none,
    "x402.purchasing_wallet": none,
    "x402.budget": none,
  };
}
