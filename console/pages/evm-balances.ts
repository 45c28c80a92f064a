/** What the managed EVM wallets hold, as their networks' nodes tell. */

import { formatEvmAmount } from "../ui/evm-tokens.ts";
import { keepOnOneLine } from "../ui/format.ts";
import { textAt, valueAt } from "../ui/path.ts";
import type { Resource } from "../ui/resource.ts";
import { EVM_NETWORKS, EVM_WALLETS } from "./fields/known-ids.ts";

interface EvmAsset {
  asset: string;
  amount: string;
  decimals: number | null;
}

/** Each amount with its token, on one line. */
function describeAssets(row: unknown): string {
  const chain = textAt(row, "caip2Network");
  const assets = (valueAt(row, "Assets") as EvmAsset[] | null | undefined) ?? [];
  return assets
    .map(({ asset, amount, decimals }) =>
      keepOnOneLine(formatEvmAmount(amount, chain, asset, decimals)),
    )
    .join(" · ");
}

export const evmBalances: Resource = {
  name: "balances",
  title: "Balances",
  description:
    "What each EVM wallet holds: the native coin, which pays the gas, then tokens. At most half a minute old.",
  path: "/x402/wallets/balances",
  rowsMember: "Balances",
  key: "evmWalletId",
  emptyText: "There is no EVM wallet yet. Create one in the tab Wallets.",
  filters: [
    { name: "caip2Network", label: "Network", knownIds: EVM_NETWORKS },
    { name: "id", label: "Wallet", knownIds: EVM_WALLETS },
  ],
  pageRows: 10,
  columns: [
    { heading: "Wallet", path: "evmWalletId", knownIds: EVM_WALLETS, second: "address" },
    { heading: "Network", path: "caip2Network", knownIds: EVM_NETWORKS },
    { heading: "Holds", path: "Assets", describe: describeAssets },
    { heading: "Problem", path: "error" },
    { heading: "Read", path: "readAt", as: "time" },
  ],
  details: [{ heading: "Address", path: "address", as: "address", chainFrom: "caip2Network" }],
};
