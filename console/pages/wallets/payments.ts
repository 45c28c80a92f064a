/** What left the wallets: their transactions, and what they paid out. */

import type { Resource } from "../../ui/resource.ts";
import { WALLET_KEYS, WALLETS } from "../fields/known-ids.ts";

export const transactions: Resource = {
  name: "transactions",
  title: "Transactions",
  about: "What the wallets sent, or are about to send, and what each transaction was made for.",
  needs: "Admin",
  path: "/wallet/transaction",
  rows: "Transactions",
  key: "txHash",
  hasNetwork: true,
  empty: "No wallet has sent anything, or nothing that the filters leave.",
  filters: [
    { name: "walletVkey", label: "Wallet (key hash)", known: WALLET_KEYS },
    {
      name: "state",
      label: "State",
      as: "choice",
      choices: [
        "Stored",
        "Sent",
        "InBlock",
        "Confirmed",
        "Final",
        "RolledBack",
        "Expired",
        "Refused",
        "Orphaned",
        "Failed",
        "Dead",
      ],
    },
  ],
  columns: [
    { head: "Transaction", at: "txHash" },
    { head: "State", at: "state", as: "tag" },
    { head: "Tasks", at: "Tasks", as: "count" },
    { head: "Fee", at: "fees", as: "native" },
    { head: "Error", at: "error" },
    { head: "Made", at: "createdAt", as: "time" },
  ],
};

export const transfers: Resource = {
  name: "transfers",
  title: "Transfers",
  about: "Payments out of the wallets, top-ups among them.",
  needs: "Admin",
  path: "/wallet/transfer-funds",
  rows: "transfers",
  hasNetwork: true,
  empty: "Nothing was transferred.",
  filters: [{ name: "hotWalletId", label: "From wallet (id)", known: WALLETS }],
  columns: [
    { head: "Id", at: "id" },
    { head: "Status", at: "status", as: "tag" },
    { head: "To", at: "toAddress", as: "code" },
    { head: "Native coin", at: "minorUnitAmount", as: "native" },
    { head: "Tokens", at: "assets", as: "funds" },
    { head: "Transaction", at: "txHash", as: "code" },
    { head: "Note", at: "errorNote" },
    { head: "Made", at: "createdAt", as: "time" },
  ],
};
