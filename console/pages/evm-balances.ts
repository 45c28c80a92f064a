/** What the managed EVM wallets hold, as their networks' nodes tell. */

import type { Resource } from "../ui/resource.ts";
import { EVM_NETWORKS, EVM_WALLETS } from "./fields/known-ids.ts";

export const evmBalances: Resource = {
  name: "balances",
  title: "Balances",
  about:
    "What each EVM wallet holds, in smallest units: the native coin, which pays the gas, then tokens. At most half a minute old.",
  path: "/x402/wallets/balances",
  rows: "Balances",
  key: "evmWalletId",
  empty: "There is no EVM wallet yet.",
  filters: [
    { name: "caip2Network", label: "Network (CAIP-2)", known: EVM_NETWORKS },
    { name: "id", label: "Wallet (id)", known: EVM_WALLETS },
  ],
  pageRows: 10,
  columns: [
    { head: "Wallet", at: "evmWalletId" },
    { head: "Address", at: "address", as: "code" },
    { head: "Network", at: "caip2Network" },
    { head: "Holds", at: "Assets", as: "records" },
    { head: "Problem", at: "error" },
    { head: "Read", at: "readAt", as: "time" },
  ],
};
