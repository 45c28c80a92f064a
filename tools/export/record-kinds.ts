/** A record as the API shows it. */
export type ApiRecord = Readonly<Record<string, unknown>>;

/** What is exported: all records of a network, or only those of a wallet or a key. */
export interface Selection {
  /** `Preprod`, `Mainnet`, or the CAIP-2 id of an EVM chain. */
  network: string;
  wallet: { id: string; vkey: string | null } | null;
  keyId: string | null;
}

/** What earlier kinds have found, for kinds whose records name no network or key. */
export interface FoundIds {
  wallets: ReadonlySet<unknown>;
  webhooks: ReadonlySet<unknown>;
}

/** A list of the API, and which of its records belong to a selection. */
export interface RecordKind {
  kind: string;
  /** Networks that have such records; `every`: the records belong to no network. */
  of: "ledger" | "chain" | "every";
  path: string;
  /** The list's name in the answer. */
  list: string;
  /** A list by POST: its fields are in the body. */
  isPost?: true;
  /** The whole list is one page. */
  isWhole?: true;
  /** Parameters beside those of the page: for each entry the whole list is read. */
  queries?: (selection: Selection, found: FoundIds) => readonly Readonly<Record<string, unknown>>[];
  /** Name of the page's size, and its maximum. */
  limit?: readonly [name: string, max: number];
  /** The parameters that continue after a record. */
  after?: (record: ApiRecord) => Readonly<Record<string, unknown>>;
  /** Whether a record belongs to the network; left out: all do. */
  isOfNetwork?: (record: ApiRecord, network: string, found: FoundIds) => boolean;
  /** Left out: no record names a wallet, so an export of a wallet has none. */
  isOfWallet?: (record: ApiRecord, wallet: NonNullable<Selection["wallet"]>) => boolean;
  /** Left out: no record names its key. */
  isOfKey?: (record: ApiRecord, keyId: string, found: FoundIds) => boolean;
  /** Fields that are left out, since they may hold secrets. */
  omitted?: readonly string[];
}

/** The month of the first contracts on the ledger, so the first that an invoice can have. */
const FIRST_MONTH = "2021-09";

const ofNetwork = ({ network }: Selection) => [{ network }];
const ofChain = ({ network }: Selection) => [{ caip2Network: network }];
const member = (record: ApiRecord, name: string, field: string) =>
  (record[name] as ApiRecord | null | undefined)?.[field];
const isOfWalletVkey: RecordKind["isOfWallet"] = (record, { vkey }) =>
  member(record, "SmartContractWallet", "walletVkey") === vkey;

/** Each kind once: settlements are in their payments, histories in their escrows. */
export const RECORD_KINDS: readonly RecordKind[] = [
  ...(["payment", "purchase"] as const).map(
    (kind): RecordKind => ({
      kind,
      of: "ledger",
      path: `/api/v1/${kind}`,
      list: kind === "payment" ? "Payments" : "Purchases",
      queries: ({ network }) => [{ network, includeHistory: true }],
      isOfWallet: (record, { id }) => member(record, "SmartContractWallet", "id") === id,
      isOfKey: (record, keyId) => record.requestedById === keyId,
    }),
  ),
  {
    kind: "dispute",
    of: "ledger",
    path: "/api/v1/dispute",
    list: "Disputes",
    queries: ofNetwork,
  },
  {
    kind: "agent-registration",
    of: "ledger",
    path: "/api/v1/registry",
    list: "Assets",
    queries: ofNetwork,
    isOfWallet: isOfWalletVkey,
  },
  {
    kind: "inbox-agent-registration",
    of: "ledger",
    path: "/api/v1/inbox-agents",
    list: "Assets",
    queries: ofNetwork,
    isOfWallet: isOfWalletVkey,
  },
  {
    kind: "registry-entry",
    of: "ledger",
    path: "/api/v1/registry-entry",
    list: "entries",
    isPost: true,
    limit: ["limit", 50],
    queries: ({ network }) => [
      { network, filter: { status: ["Online", "Offline", "Deregistered", "Invalid"] } },
    ],
  },
  {
    kind: "inbox",
    of: "ledger",
    path: "/api/v1/inbox-agent-registration",
    list: "registrations",
    isPost: true,
    limit: ["limit", 50],
    queries: ({ network }) => [
      { network, filter: { status: ["Pending", "Verified", "Invalid", "Deregistered"] } },
    ],
  },
  {
    kind: "payment-source",
    of: "ledger",
    path: "/api/v1/payment-source",
    list: "PaymentSources",
    queries: ofNetwork,
  },
  {
    kind: "wallet",
    of: "ledger",
    path: "/api/v1/wallet/list",
    list: "Wallets",
    isOfNetwork: (record, network) => record.network === network,
    isOfWallet: (record, { id }) => record.id === id,
  },
  {
    kind: "wallet-transaction",
    of: "ledger",
    path: "/api/v1/wallet/transaction",
    list: "Transactions",
    queries: ({ network, wallet }) => [
      { network, ...(wallet?.vkey && { walletVkey: wallet.vkey }) },
    ],
    after: ({ txHash }) => ({ cursorId: txHash }),
    isOfWallet: (record, { vkey }) => record.walletVkey === vkey,
  },
  {
    kind: "transfer",
    of: "ledger",
    path: "/api/v1/wallet/transfer-funds",
    list: "transfers",
    queries: ({ network, wallet }) => [{ network, ...(wallet && { hotWalletId: wallet.id }) }],
    isOfWallet: (record, { id }) => record.hotWalletId === id,
  },
  ...(["low-balance", "top-up"] as const).map(
    (name): RecordKind => ({
      kind: `${name}-rule`,
      of: "ledger",
      path: `/api/v1/wallet/${name}`,
      list: "Rules",
      isOfNetwork: (record, _, found) => found.wallets.has(record.walletId),
      isOfWallet: (record, { id }) => record.walletId === id,
    }),
  ),
  {
    kind: "invoice",
    of: "ledger",
    path: "/api/v1/invoice/monthly",
    list: "Invoices",
    limit: ["limit", 10],
    queries: ({ network }) =>
      listMonths(FIRST_MONTH, Date.now()).map((month) => ({ network, month, includePdf: true })),
    isOfWallet: (record, { vkey }) => record.sellerWalletVkey === vkey,
  },
  {
    kind: "x402-payment",
    of: "chain",
    path: "/api/v1/x402/payments",
    list: "PaymentAttempts",
    limit: ["take", 100],
    queries: ofChain,
    isOfWallet: (record, { id }) => record.evmWalletId === id,
    isOfKey: (record, keyId) => record.apiKeyId === keyId,
  },
  {
    kind: "x402-payment-source",
    of: "chain",
    path: "/api/v1/x402/payment-sources",
    list: "PaymentSources",
    isOfNetwork: (record, network) => member(record, "requirements", "network") === network,
    isOfKey: (record, keyId) => record.createdById === keyId,
  },
  {
    kind: "x402-network",
    of: "chain",
    path: "/api/v1/x402/networks",
    list: "Networks",
    isWhole: true,
    isOfNetwork: (record, network) => record.caip2Id === network,
    omitted: ["rpcUrl"],
  },
  {
    kind: "x402-wallet",
    of: "chain",
    path: "/api/v1/x402/wallets",
    list: "Wallets",
    queries: ofChain,
    isOfWallet: (record, { id }) => record.id === id,
    isOfKey: (record, keyId) => record.createdById === keyId,
  },
  {
    kind: "x402-low-balance-rule",
    of: "chain",
    path: "/api/v1/x402/low-balance",
    list: "Rules",
    isOfNetwork: (record, network) => record.caip2Network === network,
    isOfWallet: (record, { id }) => record.evmWalletId === id,
  },
  {
    kind: "x402-budget",
    of: "chain",
    path: "/api/v1/x402/budgets",
    list: "Budgets",
    queries: ({ keyId }) => [keyId === null ? {} : { apiKeyId: keyId }],
    isOfNetwork: (record, network) => record.caip2Network === network,
    isOfWallet: (record, { id }) => record.evmWalletId === id,
    isOfKey: (record, keyId) => record.apiKeyId === keyId,
  },
  {
    kind: "api-key",
    of: "every",
    path: "/api/v1/api-key",
    list: "ApiKeys",
    isOfKey: (record, keyId) => record.id === keyId,
  },
  {
    kind: "audit-entry",
    of: "every",
    path: "/api/v1/audit",
    list: "AuditEntries",
    queries: ({ keyId }) => [keyId === null ? {} : { apiKeyId: keyId }],
    isOfWallet: (record, { id }) => record.target === id,
    isOfKey: (record, keyId) => record.apiKeyId === keyId,
  },
  {
    kind: "webhook",
    of: "every",
    path: "/api/v1/webhooks",
    list: "Webhooks",
    limit: ["limit", 50],
    isOfKey: (record, keyId) => member(record, "CreatedBy", "apiKeyId") === keyId,
  },
  {
    kind: "webhook-delivery",
    of: "every",
    path: "/api/v1/webhooks/deliveries",
    list: "Deliveries",
    queries: (_, { webhooks }) => [...webhooks].map((webhookId) => ({ webhookId })),
    isOfKey: (record, _, found) => found.webhooks.has(record.webhookId),
  },
  { kind: "unit", of: "every", path: "/api/v1/units", list: "Units", isWhole: true },
];

/** The months from one to that of a time, UTC. @param now - epoch milliseconds */
function listMonths(first: string, now: number): string[] {
  const [year = 0, month = 1] = first.split("-").map(Number);
  const months: string[] = [];
  for (let i = month - 1; ; i++) {
    const at = Date.UTC(year, i);
    if (at > now) return months;
    months.push(new Date(at).toISOString().slice(0, 7));
  }
}
