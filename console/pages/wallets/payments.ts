/** What left the wallets: their transactions, and what they paid out. */

import type { Resource } from "../../ui/resource.ts";
import { WALLET_KEYS, WALLETS } from "../fields/known-ids.ts";

export const transactions: Resource = {
  name: "transactions",
  title: "Transactions",
  description:
    "What the wallets sent, or are about to send, and what each transaction was made for.",
  needs: "Admin",
  path: "/wallet/transaction",
  rowsMember: "Transactions",
  key: "txHash",
  hasNetwork: true,
  emptyText: "No wallet has sent anything, or nothing that the filters leave.",
  filters: [
    { name: "walletVkey", label: "Wallet", knownIds: WALLET_KEYS },
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
    { heading: "Transaction", path: "txHash" },
    { heading: "State", path: "state", as: "tag" },
    { heading: "Tasks", path: "Tasks", as: "count" },
    { heading: "Fee", path: "fees", as: "native" },
    { heading: "Error", path: "error" },
    { heading: "Created", path: "createdAt", as: "time" },
  ],
  details: [{ heading: "Hash", path: "txHash", as: "hash" }],
};

export const transfers: Resource = {
  name: "transfers",
  title: "Transfers",
  description: "Payments out of the wallets, top-ups among them.",
  needs: "Admin",
  path: "/wallet/transfer-funds",
  rowsMember: "transfers",
  hasNetwork: true,
  elsewhere: [{ label: "Choose a wallet", tab: "wallets", needs: "Admin" }],
  emptyText: "Nothing was transferred. Open a wallet to pay from it.",
  filters: [{ name: "hotWalletId", label: "From wallet", knownIds: WALLETS }],
  columns: [
    { heading: "To", path: "toAddress" },
    { heading: "Status", path: "status", as: "tag" },
    { heading: "Amount", path: "minorUnitAmount", as: "native" },
    { heading: "Tokens", path: "assets", as: "funds" },
    { heading: "Problem", path: "errorNote" },
    { heading: "Created", path: "createdAt", as: "time" },
  ],
  details: [
    { heading: "To the address", path: "toAddress", as: "address" },
    { heading: "Transaction", path: "txHash", as: "hash" },
  ],
};
