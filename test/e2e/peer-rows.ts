/** Rows of every kind that the import reads, and rows that it must leave out. */
import { createCipheriv, pbkdf2Sync, randomBytes, scryptSync } from "node:crypto";
import { privateKeyToAddress } from "viem/accounts";
import { contractOf } from "../../devnet/contracts/index.ts";
import { TERMS } from "../../devnet/contracts/terms.ts";
import { ADMIN, BUYERS, SELLERS, STRANGER, type Wallet } from "../../devnet/demo/actors/wallets.ts";
import { signIdentifier } from "../../src/chain/contracts/blockchain-identifier.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";

export const ENCRYPTION_KEY = "test-only-encryption-key-0123456789";
export const TOKEN = "other-payment-abcdefghijklmnopqrstuvwx";
export const LIMITED_TOKEN = "other-payment-limited-bcdefghijklmnop";
export const ID = "source-v1";
export const ID_V2 = "source-v2";
const agentOf = (type: PaymentSourceType) => `${contractOf(type).policy.hash}${"ab".repeat(32)}`;
export const EVM_KEY = `0x${"11".repeat(32)}` as const;
export const RESULT_HASH = "cd".repeat(32);
const V2 = contractOf("Web3ChainV2");
const ASSET = `0x${"aa".repeat(20)}`;
const AT = "2026-03-04T05:06:07.089Z";
export const CREATED_AT = AT;
const MINUTE_MS = 60_000;

export function encrypt(text: string, key = ENCRYPTION_KEY): string {
  const [salt, iv] = [randomBytes(16), randomBytes(16)];
  const cipher = createCipheriv("aes-256-cbc", scryptSync(key, salt, 32), iv);
  return Buffer.concat([salt, iv, cipher.update(text, "utf8"), cipher.final()]).toString("hex");
}

function hashToken(token: string): string {
  const salt = scryptSync(ENCRYPTION_KEY, "masumi-apikey-pbkdf2-salt-v1", 32);
  return pbkdf2Sync(token, salt, 100_000, 64, "sha512").toString("hex");
}

export interface Row {
  table: string;
  [column: string]: unknown;
}

const key = (id: string, token: string, columns: object = {}): Row => ({
  ...{ table: "ApiKey", id, token: "*****", tokenHash: hashToken(token), status: "Active" },
  ...{ encryptedToken: encrypt(token), canRead: true, canPay: true, canAdmin: false },
  ...{ networkLimit: ["cardano:preprod", "eip155:84532"], usageLimited: false },
  ...{ walletScopeEnabled: false, ...columns },
});

const wallet = (id: string, type: string, of: Wallet, columns: object = {}): Row[] => [
  { table: "WalletSecret", id: `${id}-secret`, encryptedMnemonic: encrypt(of.mnemonic) },
  {
    ...{ table: "HotWallet", id, walletVkey: of.vkey, walletAddress: of.address, type },
    ...{ secretId: `${id}-secret`, paymentSourceId: ID, note: `note of ${id}`, ...columns },
  },
];

/** A signed quote. The price is fixed by the registration on Web3ChainV1, and signed on Web3ChainV2. */
export function createQuote(nonce: string, now: number, type: PaymentSourceType = "Web3ChainV1") {
  const times = {
    payByTime: BigInt(now + 30 * MINUTE_MS),
    submitResultTime: BigInt(now + 60 * MINUTE_MS),
    unlockTime: BigInt(now + 120 * MINUTE_MS),
    externalDisputeUnlockTime: BigInt(now + 180 * MINUTE_MS),
  };
  const isV1 = type === "Web3ChainV1";
  const seller = isV1 ? SELLERS[0] : SELLERS[2];
  const sellerReturnAddress = isV1 ? null : STRANGER.address;
  const terms = {
    ...{ version: type, inputHash: "ef".repeat(32), agentIdentifier: agentOf(type) },
    ...{ buyerNonce: nonce, sellerNonce: "12".repeat(32), ...times },
    ...{ seller: seller.address, sellerReturnAddress },
  };
  const context = {
    contractAddress: contractOf(type).address,
    requestedFunds: isV1 ? null : [{ unit: "", amount: 5_000_000n }],
    ...(!isV1 && { supportedPaymentSourceIndex: 3 }),
  };
  const { blockchainIdentifier } = signIdentifier(terms, context, seller.keys);
  return { blockchainIdentifier, inputHash: terms.inputHash, sellerReturnAddress, ...times };
}

/** A quote or a purchase, its next action and its price. */
function escrow(table: string, id: string, quote: object, action: object, columns: object): Row[] {
  const isPayment = table === "PaymentRequest";
  const actions = isPayment ? "PaymentActionData" : "PurchaseActionData";
  const owner = isPayment ? "paymentRequestId" : "purchaseRequestId";
  return [
    { table: actions, id: `${id}-action`, requestedAction: "WaitingForExternalAction", ...action },
    { table: "UnitValue", id: `${id}-price`, unit: "", amount: "5000000", [owner]: id },
    {
      ...{ table, id, paymentSourceId: ID, nextActionId: `${id}-action`, pricingType: "Fixed" },
      ...{ metadata: `note of ${id}`, agentName: "Translator", requestedById: "key", ...quote },
      ...columns,
    },
  ];
}

export const payment = (id: string, quote: object, action = {}, columns = {}) =>
  escrow("PaymentRequest", id, quote, action, { smartContractWalletId: "seller", ...columns });

export const purchase = (id: string, quote: object, action = {}, columns = {}) =>
  escrow("PurchaseRequest", id, quote, action, {
    ...{ sellerWalletId: "base", isLimitedToHotWallets: false, ...columns },
  });

const agent = (id: string, columns: object = {}): Row[] => [
  {
    ...{ table: "RegistryRequest", id, paymentSourceId: ID, smartContractWalletId: "seller" },
    ...{ name: "Translator", apiBaseUrl: "https://agent.example.com", authorName: "An author" },
    ...{
      metadataVersion: 1,
      tags: ["text"],
      agentIdentifier: agentOf("Web3ChainV1"),
      requestedById: "key",
    },
    ...{ state: "RegistrationConfirmed", registrationStateLastChangedAt: AT, ...columns },
  },
  { table: "AgentPricing", id: `${id}-pricing`, pricingType: "Fixed", registryRequestId: id },
  { table: "AgentFixedPricing", id: `${id}-fixed`, agentPricingId: `${id}-pricing` },
  {
    ...{ table: "UnitValue", id: `${id}-price`, unit: "", amount: "5000000" },
    agentFixedPricingId: `${id}-fixed`,
  },
];

const webhook = (id: string, columns: object = {}): Row => ({
  ...{ table: "WebhookEndpoint", id, url: encrypt(`https://hooks.example.com/${id}`) },
  ...{ urlHash: "hash", authToken: encrypt("bearer"), format: "SLACK", isActive: true },
  ...{ events: ["PAYMENT_ON_ERROR"], createdByApiKeyId: "key", ...columns },
});

const source = (id: string, columns: object = {}): Row => ({
  ...{ table: "PaymentSource", id, network: "Preprod", paymentSourceType: "Web3CardanoV1" },
  ...{ smartContractAddress: contractOf("Web3ChainV1").address, feeRatePermille: 50 },
  ...{ policyId: contractOf("Web3ChainV1").policy.hash, adminWalletId: "admin-0" },
  ...{ cooldownTime: TERMS.Web3ChainV1.cooldownTime, paymentSourceConfigId: "config", ...columns },
});

/** Everything: what is imported, and what is left out. */
export function listRows(now: number): Row[] {
  const quote = createQuote("01".repeat(11), now);
  const lockedQuote = createQuote("02".repeat(11), now);
  const lateQuote = createQuote("03".repeat(11), now - 60 * MINUTE_MS);
  const pendingQuote = createQuote("04".repeat(11), now);
  return [
    {
      ...{ table: "_prisma_migrations", finished_at: AT },
      migration_name: "20260720030000_source_owned_registry_pricing",
    },
    {
      ...{ table: "PaymentSourceConfig", id: "config", rpcProvider: "Blockfrost" },
      rpcProviderApiKey: "local-chain",
    },
    ...TERMS.Web3ChainV1.adminVkeys.map((_, order) => ({
      ...{ table: "AdminWallet", id: `admin-${order}`, walletAddress: ADMIN.address, order },
      paymentSourceAdminId: ID,
    })),
    source(ID),
    source(ID_V2, {
      ...{ paymentSourceType: "Web3CardanoV2", smartContractAddress: V2.address },
      ...{ policyId: V2.policy.hash, adminWalletId: null, feeRatePermille: 0 },
      requiredAdminSignatures: TERMS.Web3ChainV2.requiredAdminSignatures,
    }),
    ...TERMS.Web3ChainV2.adminVkeys.map((_, order) => ({
      ...{ table: "AdminWallet", id: `admin-v2-${order}`, walletAddress: ADMIN.address, order },
      paymentSourceAdminId: ID_V2,
    })),
    source("source-removed", { deletedAt: AT }),
    source("source-unknown-network", { network: "Preview" }),
    ...wallet("seller", "Selling", SELLERS[0]),
    ...wallet("buyer", "Purchasing", BUYERS[0]),
    ...wallet("seller-v2", "Selling", SELLERS[2], { paymentSourceId: ID_V2 }),
    ...wallet("seller-again", "Selling", SELLERS[0]),
    ...wallet("wrong-words", "Selling", STRANGER, { walletVkey: BUYERS[1].vkey }),
    ...wallet("other-role", "Lending", SELLERS[1]),
    { table: "WalletSecret", id: "unopened", encryptedMnemonic: encrypt("a b c", "another key") },
    ...wallet("sealed", "Selling", SELLERS[1], { secretId: "unopened" }).slice(1),
    key("key", TOKEN),
    key("limited", LIMITED_TOKEN, { usageLimited: true, walletScopeEnabled: true }),
    { table: "ApiKeyWalletScope", id: "scope", apiKeyId: "limited", hotWalletId: "buyer" },
    {
      table: "UnitValue",
      id: "credit-0",
      unit: "lovelace",
      amount: "7000000",
      apiKeyId: "limited",
    },
    {
      table: "UnitValue",
      id: "credit-1",
      unit: "",
      amount: "9007199254740993",
      apiKeyId: "limited",
    },
    key("unproven", "unproven-token", { encryptedToken: null, canPay: false }),
    key("public", "DefaultUnsecureAdminKey", { canAdmin: true }),
    key("deleted", "deleted-token", { deletedAt: AT, status: "Revoked" }),
    key("powerless", "powerless-token", { canRead: false, canPay: false }),
    {
      ...{ table: "HotWalletLowBalanceRule", id: "rule", hotWalletId: "buyer", enabled: true },
      ...{ assetUnit: "lovelace", thresholdAmount: "10000000", topupEnabled: true },
      topupAmount: "6000000",
    },
    {
      ...{ table: "HotWalletLowBalanceRule", id: "rule-orphan", hotWalletId: "sealed" },
      ...{ assetUnit: "lovelace", thresholdAmount: "1", topupEnabled: false, enabled: true },
    },
    ...agent("agent"),
    ...agent("agent-open", { state: "RegistrationRequested", agentIdentifier: null }),
    ...agent("agent-without-tags", { tags: [], agentIdentifier: null }),
    ...agent("agent-v2", {
      ...{ paymentSourceId: ID_V2, smartContractWalletId: "seller-v2", metadataVersion: 2 },
      agentIdentifier: agentOf("Web3ChainV2"),
    }),
    {
      ...{ table: "SupportedPaymentSource", id: "ledger-source", registryRequestId: "agent-v2" },
      ...{ chain: "Cardano", network: "Preprod", position: 1, address: V2.address },
      paymentSourceType: "Web3CardanoV2",
    },
    {
      ...{ table: "AgentPricing", id: "ledger-pricing", pricingType: "Dynamic" },
      supportedPaymentSourceId: "ledger-source",
    },
    {
      ...{ table: "InboxAgentRegistrationRequest", id: "inbox", paymentSourceId: ID, name: "Desk" },
      ...{ smartContractWalletId: "seller", agentSlug: "desk", metadataVersion: 1 },
      ...{ state: "DeregistrationConfirmed", registrationStateLastChangedAt: AT },
    },
    {
      table: "WalletBase",
      id: "base",
      walletVkey: SELLERS[0].vkey,
      walletAddress: SELLERS[0].address,
    },
    ...payment("quote", quote),
    ...purchase(
      "purchase",
      quote,
      { requestedAction: "FundsLockingRequested" },
      { isLimitedToHotWallets: true },
    ),
    { table: "_HotWalletLimit", A: "buyer", B: "purchase" },
    ...payment("manual", createQuote("07".repeat(11), now), {
      ...{ requestedAction: "WaitingForManualAction", errorNote: "Somebody has to look" },
    }),
    ...payment("refund", createQuote("08".repeat(11), now), {
      requestedAction: "AuthorizeRefundRequested",
    }),
    ...payment(
      "result",
      lockedQuote,
      { requestedAction: "SubmitResultRequested", resultHash: RESULT_HASH },
      { onChainState: "FundsLocked", invoiceBaseId: "invoice" },
    ),
    ...purchase(
      "pending",
      pendingQuote,
      { requestedAction: "FundsLockingInitiated" },
      { currentTransactionId: "transaction" },
    ),
    { table: "Transaction", id: "transaction", status: "Pending", intendedTxHash: "ab".repeat(32) },
    ...payment("late", lateQuote),
    ...payment(
      "quote-v2",
      createQuote("06".repeat(11), now, "Web3ChainV2"),
      {},
      { paymentSourceId: ID_V2, smartContractWalletId: "seller-v2", pricingType: "Dynamic" },
    ),
    ...payment("unsigned", { ...createQuote("05".repeat(11), now), unlockTime: String(now) }),
    ...payment("strange", { ...quote, blockchainIdentifier: "abcd" }),
    {
      ...{ table: "X402Network", id: "evm", caip2Id: "eip155:84532", displayName: "Base Sepolia" },
      ...{ rpcUrl: "https://rpc.example.com/key", isTestnet: true, isEnabled: true },
      ...{ defaultAsset: ASSET, defaultAssetDecimals: 6, facilitatorWalletId: "evm-seller" },
    },
    {
      ...{ table: "X402WalletSecret", id: "evm-secret", encryptedPrivateKey: encrypt(EVM_KEY) },
    },
    ...["evm-seller", "evm-wrong"].map((id) => ({
      ...{ table: "X402EvmWallet", id, networkId: "evm", secretId: "evm-secret", type: "Selling" },
      address: id === "evm-wrong" ? ASSET : privateKeyToAddress(EVM_KEY),
    })),
    {
      ...{ table: "X402WalletBudget", id: "budget", apiKeyId: "key", evmWalletId: "evm-seller" },
      ...{ asset: ASSET, remainingAmount: "900", spentAmount: "100", enabled: true },
    },
    {
      ...{ table: "X402EvmWalletLowBalanceRule", id: "evm-rule", evmWalletId: "evm-seller" },
      ...{ asset: "native", thresholdAmount: "1000", enabled: true },
    },
    {
      ...{ table: "SupportedPaymentSource", id: "evm-source", registryRequestId: "agent-v2" },
      ...{ chain: "EVM", network: "eip155:84532", position: 0, address: ASSET, payTo: ASSET },
      ...{ scheme: "Exact", resource: "https://agent.example.com/run", fixedDecimals: 6 },
    },
    {
      ...{ table: "AgentPricing", id: "evm-pricing", pricingType: "Fixed" },
      supportedPaymentSourceId: "evm-source",
    },
    { table: "AgentFixedPricing", id: "evm-fixed", agentPricingId: "evm-pricing" },
    {
      ...{ table: "UnitValue", id: "evm-price", unit: ASSET, amount: "25" },
      agentFixedPricingId: "evm-fixed",
    },
    webhook("webhook"),
    webhook("webhook-unknown-kind", { events: ["MOON_ROSE"] }),
    webhook("webhook-sealed", { url: encrypt("https://hooks.example.com", "another key") }),
    { table: "InvoiceBase", id: "invoice", invoiceId: "NORTH-0001" },
    {
      ...{ table: "InvoiceRevision", id: "revision", invoiceBaseId: "invoice", revisionNumber: 0 },
      ...{ isCancelled: false, generatedPDFInvoice: Buffer.from("%PDF-1.7") },
    },
    { table: "SwapTransaction", id: "swap", swapStatus: "OrderPending" },
  ];
}

/** The columns of a row, with its time. */
export function toColumns({ table, ...columns }: Row): { table: string; columns: object } {
  return { table, columns: "id" in columns ? { createdAt: AT, ...columns } : columns };
}
