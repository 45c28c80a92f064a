/** What the managed EVM wallets hold, as their networks' nodes tell. */

import type { Resource } from "../ui/resource.ts";
import { EVM_NETWORKS, EVM_WALLETS } from "./fields/known-ids.ts";

export const evmBalances: Resource = {
  name: "balances",
  title: "Balances",
  description:
    "What each EVM wallet holds, in minor units: the native coin, which pays the gas, then tokens. At most half a minute old.",
  path: "/x402/wallets/balances",
  rowsMember: "Balances",
  key: "evmWalletId",
  emptyText: "There is no EVM wallet yet.",
  filters: [
    { name: "caip2Network", label: "Network", knownIds: EVM_NETWORKS },
    { name: "id", label: "Wallet", knownIds: EVM_WALLETS },
  ],
  pageRows: 10,
  columns: [
    { heading: "Wallet", path: "evmWalletId" },
    { heading: "Address", path: "address", as: "code" },
    { heading: "Network", path: "caip2Network" },
    { heading: "Holds", path: "Assets", as: "records" },
    { heading: "Problem", path: "error" },
    { heading: "Read", path: "readAt", as: "time" },
  ],
};
