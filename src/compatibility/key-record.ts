import * as z from "zod";
import {
  type ApiKeyRecord,
  apiKeyRecord,
  apiKeyStatus,
  createdApiKey,
} from "../api-keys/schemas.ts";
import type { Spending } from "../api-keys/spending-limits.ts";
import { NETWORKS } from "../chain/network.ts";
import { network } from "../http/openapi/chain-fields.ts";
import { described, named, textField } from "../http/openapi/fields.ts";

const status = apiKeyStatus.shape;

const externalFields = {
  permission: described(
    z.enum(["Admin", "ReadAndPay", "Read", "User"]),
    "`ReadAndPay` is a User with +PAY access, and `Read` a User without. `User` answers a request without these names.",
    "ReadAndPay",
  ),
  usageLimited: described(
    z.boolean(),
    "Whether the key has `spendingLimits`, or metered calls cost credits.",
    true,
  ),
  canRead: status.canRead,
  canAdmin: status.canAdmin,
  NetworkLimit: described(z.array(network), "The ledger's networks in `networkLimit`."),
  ChainIdLimit: described(
    z.array(textField("A CAIP-2 id.", "eip155:8453")),
    "The other networks in `networkLimit`. Empty for an Admin.",
  ),
  walletScopeEnabled: status.walletScopeEnabled,
  WalletScopes: status.WalletScopes,
  RemainingUsageCredits: described(
    status.RemainingUsageCredits,
    "Remainder of `spendingLimits`, on the network of the key where least is left, and of x402 budgets, whose unit is the CAIP-2 id and the token. Empty: no limit.",
  ),
};

/** A key, with the names by which clients of other services know it beside ours. */
export const externalKey = named(
  "ScopedApiKey",
  "An API key, with its token masked.",
  apiKeyRecord.extend(externalFields),
);

export const createdExternalKey = named(
  "CreatedScopedApiKey",
  "A new API key, with its token.",
  createdApiKey.extend(externalFields),
);

type ExternalKey = z.input<typeof externalKey>;

/** @param x402 - what is left of the key's x402 budgets */
export function toExternalKey(
  key: ApiKeyRecord,
  spending: readonly Spending[] = [],
  x402: ExternalKey["RemainingUsageCredits"] = [],
): ExternalKey {
  const canAdmin = key.permission === "Admin";
  const wallets = canAdmin ? null : key.walletLimit;
  const isLimited = !canAdmin && key.spendingLimits !== null;
  return {
    ...key,
    permission: canAdmin ? "Admin" : key.canPay ? "ReadAndPay" : "Read",
    usageLimited: isLimited || key.usageLimited,
    canRead: true,
    canAdmin,
    NetworkLimit: NETWORKS.filter((one) => key.networkLimit.includes(one)),
    ChainIdLimit: key.networkLimit.filter((one) => !NETWORKS.some((ledger) => ledger === one)),
    walletScopeEnabled: wallets !== null,
    WalletScopes: (wallets ?? []).map((hotWalletId) => ({ hotWalletId })),
    RemainingUsageCredits: isLimited ? [...findSmallestRemainders(key, spending), ...x402] : [],
  };
}

/** The same, with the names that this service and the registry service have of its rights. */
export function toRegistryKey(...used: Parameters<typeof toExternalKey>): ExternalKey {
  const [{ permission, usageLimited }] = used;
  return { ...toExternalKey(...used), permission, usageLimited };
}

/** There one amount of a unit is for all networks, so no more is shown than each network has left. */
function findSmallestRemainders(
  { networkLimit, spendingLimits }: ApiKeyRecord,
  spending: readonly Spending[],
): ExternalKey["RemainingUsageCredits"] {
  const networks = NETWORKS.filter((one) => networkLimit.includes(one));
  const limits = (spendingLimits ?? []).filter(({ network }) => networks.includes(network));
  return [...new Set(limits.map(({ unit }) => unit))].map((unit) => {
    const remainders = networks.map((network) => {
      const isThis = (one: { network: string; unit: string }) =>
        one.network === network && one.unit === unit;
      const rest = BigInt(limits.find(isThis)?.amount ?? 0) - (spending.find(isThis)?.spent ?? 0n);
      return rest > 0n ? rest : 0n;
    });
    return { unit, amount: String(remainders.reduce((a, b) => (a < b ? a : b))) };
  });
}
