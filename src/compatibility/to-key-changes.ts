import type { KeySettings } from "../api-keys/api-key-record.ts";
import type { CreateApiKeyBody, KeyChanges, SpendingLimit } from "../api-keys/schemas.ts";
import { addToSpendingLimits } from "../api-keys/spending-limits.ts";
import { NETWORKS, type Network } from "../chain/network.ts";
import { ApiError } from "../http/errors.ts";
import type { ExternalSettings } from "./key-bodies.ts";

/** A key before it has any setting. */
const BLANK: KeySettings = {
  permission: "User",
  canPay: false,
  usageLimited: false,
  networkLimit: [],
  walletLimit: null,
  spendingLimits: null,
};

/**
 * A new key. What the client omits has the payment service's default: limited, without credits, for both
 * networks of the ledger.
 *
 * @throws ApiError 400
 */
export function toNewKey(sent: ExternalSettings): CreateApiKeyBody {
  const { name = "", returnAddresses, permission = "Read", canRead, canPay, canAdmin } = sent;
  const hasFlags = [canRead, canPay, canAdmin].some((one) => one !== undefined);
  const {
    spendingLimits,
    spendingLimitChanges = [],
    ...changes
  } = toKeyChanges(
    {
      ...sent,
      permission: hasFlags ? "Read" : permission,
      usageLimited: sent.usageLimited ?? true,
      NetworkLimit: sent.NetworkLimit ?? [...NETWORKS],
      UsageCreditsToAddOrRemove: sent.usageLimited === false ? [] : sent.UsageCredits,
    },
    BLANK,
  );
  const isAdmin = changes.permission === "Admin";
  return {
    ...changes,
    name,
    returnAddresses,
    permission: isAdmin ? "Admin" : "User",
    // The payment service stores no network of an Admin, who has none after a demotion.
    networkLimit: isAdmin ? [] : changes.networkLimit,
    usageLimited: false,
    maxUsageCredits: 0,
    spendingLimits:
      spendingLimits && addToSpendingLimits(spendingLimits, spendingLimitChanges, []).limits,
  };
}

/**
 * What the payment service's client changes of a key. An omitted setting stays as it is.
 *
 * @throws ApiError 400
 */
export function toKeyChanges(sent: ExternalSettings, key: KeySettings): KeyChanges {
  const rights = toRights(sent, key);
  const isDemoted = key.permission === "Admin" && rights.permission === "User";
  const present = isDemoted ? [] : key.networkLimit;
  const networkLimit = toNetworkLimit(sent, present);
  if (rights.permission === "Admin") requireUnbound(sent, key);
  return {
    ...rights,
    ...((sent.NetworkLimit || sent.ChainIdLimit || isDemoted) && { networkLimit }),
    ...toWalletLimit(sent, key),
    ...toSpendingLimits(sent, key, networkLimit),
  };
}

/** @throws ApiError 400 for a key without rights */
function toRights(
  { permission, canRead, canPay, canAdmin }: ExternalSettings,
  key: KeySettings,
): Pick<KeyChanges, "permission" | "canPay"> {
  const isAdmin = canAdmin ?? (permission ?? key.permission) === "Admin";
  const mayPay = canPay ?? (permission === undefined ? key.canPay : permission === "ReadAndPay");
  if (!isAdmin && !mayPay && canRead === false)
    throw new ApiError(400, "canRead: a key without any right cannot be used. Revoke it instead.");
  return { permission: isAdmin ? "Admin" : "User", canPay: mayPay };
}

/** An Admin has no limit: the client must lift those that the key has. */
function requireUnbound(sent: ExternalSettings, key: KeySettings): void {
  const isNew = key.permission !== "Admin";
  const isLimited = isNew && (key.spendingLimits !== null || key.usageLimited);
  if (sent.usageLimited ?? isLimited)
    throw new ApiError(400, "usageLimited: must be false for an Admin key");
  if (sent.walletScopeEnabled ?? (isNew && key.walletLimit !== null))
    throw new ApiError(400, "walletScopeEnabled: must be false for an Admin key");
}

function toNetworkLimit(
  { NetworkLimit, ChainIdLimit }: ExternalSettings,
  present: readonly string[],
): string[] {
  const ledger = NetworkLimit ?? present.filter(isLedgerNetwork);
  const others = ChainIdLimit ?? present.filter((one) => !isLedgerNetwork(one));
  return [...new Set([...ledger, ...others.filter((one) => !one.startsWith("cardano:"))])];
}

function isLedgerNetwork(name: string): name is Network {
  return NETWORKS.some((network) => network === name);
}

/** @throws ApiError 400 for wallets of a key without a `walletLimit` */
function toWalletLimit(
  { walletScopeEnabled, WalletScopeHotWalletIds: ids }: ExternalSettings,
  { walletLimit }: KeySettings,
): Pick<KeyChanges, "walletLimit"> {
  const isBound = walletScopeEnabled ?? walletLimit !== null;
  if (!isBound && ids && ids.length > 0)
    throw new ApiError(400, "WalletScopeHotWalletIds: needs `walletScopeEnabled`");
  if (isBound && (ids || walletScopeEnabled)) return { walletLimit: ids ?? walletLimit ?? [] };
  return walletScopeEnabled === false ? { walletLimit: null } : {};
}

/**
 * The limits have an entry for each of the ledger's networks that the key had before. A network that the
 * client adds has none, so the key may spend nothing there.
 *
 * @throws ApiError 400 for credits of a key that is not limited
 */
function toSpendingLimits(
  { usageLimited, UsageCreditsToAddOrRemove: credits = [] }: ExternalSettings,
  key: KeySettings,
  networkLimit: readonly string[],
): Pick<KeyChanges, "spendingLimits" | "spendingLimitChanges" | "usageLimited"> {
  if (!(usageLimited ?? key.spendingLimits !== null)) {
    if (credits.length > 0)
      throw new ApiError(400, "UsageCreditsToAddOrRemove: needs `usageLimited`");
    return usageLimited === false ? { spendingLimits: null, usageLimited } : {};
  }
  const present = key.spendingLimits ?? [];
  const spendingLimits = present.filter(
    ({ network }) => networkLimit.includes(network) && key.networkLimit.includes(network),
  );
  const spendingLimitChanges = networkLimit
    .filter(isLedgerNetwork)
    .flatMap((network) => credits.map((credit): SpendingLimit => ({ network, ...credit })));
  return { spendingLimits, spendingLimitChanges };
}
