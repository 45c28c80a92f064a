/** The tables of the other service, as far as the import reads them. Enumerations are texts, so that tests can break them. */
export const PEER_TABLES = `
CREATE TABLE _prisma_migrations (migration_name TEXT, finished_at TIMESTAMPTZ, rolled_back_at TIMESTAMPTZ);
CREATE TABLE "PaymentSource" (id TEXT, "createdAt" TIMESTAMP(3), network TEXT, "paymentSourceType" TEXT,
  "requiredAdminSignatures" INT, "smartContractAddress" TEXT, "adminWalletId" TEXT, "feeRatePermille" INT,
  "cooldownTime" INT, "paymentSourceConfigId" TEXT, "deletedAt" TIMESTAMP(3), "policyId" TEXT,
  "disablePaymentAt" TIMESTAMP(3), "disableSyncAt" TIMESTAMP(3));
CREATE TABLE "PaymentSourceConfig" (id TEXT, "createdAt" TIMESTAMP(3), "rpcProviderApiKey" TEXT, "rpcProvider" TEXT);
CREATE TABLE "AdminWallet" (id TEXT, "createdAt" TIMESTAMP(3), "walletAddress" TEXT, "paymentSourceAdminId" TEXT,
  "order" INT);
CREATE TABLE "HotWallet" (id TEXT, "createdAt" TIMESTAMP(3), "walletVkey" TEXT, "walletAddress" TEXT, type TEXT,
  "secretId" TEXT, "collectionAddress" TEXT, "pendingTransactionId" TEXT, "paymentSourceId" TEXT, note TEXT,
  "deletedAt" TIMESTAMP(3));
CREATE TABLE "WalletSecret" (id TEXT, "createdAt" TIMESTAMP(3), "encryptedMnemonic" TEXT);
CREATE TABLE "ApiKey" (id TEXT, "createdAt" TIMESTAMP(3), token TEXT, "tokenHash" TEXT, "encryptedToken" TEXT,
  status TEXT, "canRead" BOOLEAN, "canPay" BOOLEAN, "canAdmin" BOOLEAN, "networkLimit" TEXT[],
  "usageLimited" BOOLEAN, "walletScopeEnabled" BOOLEAN, "deletedAt" TIMESTAMP(3));
CREATE TABLE "ApiKeyWalletScope" (id TEXT, "createdAt" TIMESTAMP(3), "apiKeyId" TEXT, "hotWalletId" TEXT);
CREATE TABLE "UnitValue" (id TEXT, "createdAt" TIMESTAMP(3), unit TEXT, amount BIGINT, "apiKeyId" TEXT,
  "agentFixedPricingId" TEXT, "paymentRequestId" TEXT, "purchaseRequestId" TEXT);
CREATE TABLE "HotWalletLowBalanceRule" (id TEXT, "createdAt" TIMESTAMP(3), "hotWalletId" TEXT, "assetUnit" TEXT,
  "thresholdAmount" BIGINT, enabled BOOLEAN, "topupEnabled" BOOLEAN, "topupAmount" BIGINT);
CREATE TABLE "FundDistributionConfig" (id TEXT, "createdAt" TIMESTAMP(3));
CREATE TABLE "FundDistributionRequest" (id TEXT, "createdAt" TIMESTAMP(3), status TEXT);
CREATE TABLE "WalletFundTransfer" (id TEXT, "createdAt" TIMESTAMP(3), status TEXT);
CREATE TABLE "SwapTransaction" (id TEXT, "createdAt" TIMESTAMP(3), "swapStatus" TEXT);
CREATE TABLE "RegistryRequest" (id TEXT, "createdAt" TIMESTAMP(3), "paymentSourceId" TEXT,
  "smartContractWalletId" TEXT, "recipientHotWalletId" TEXT, "deregistrationHotWalletId" TEXT,
  "sendFundingLovelace" BIGINT, name TEXT, "apiBaseUrl" TEXT, "capabilityName" TEXT, "capabilityVersion" TEXT,
  description TEXT, "privacyPolicy" TEXT, terms TEXT, other TEXT, "authorName" TEXT, "authorContactEmail" TEXT,
  "authorContactOther" TEXT, "authorOrganization" TEXT, "metadataVersion" INT, tags TEXT[], "agentIdentifier" TEXT,
  state TEXT, "registrationStateLastChangedAt" TIMESTAMP(3), error TEXT, "requestedById" TEXT);
CREATE TABLE "SupportedPaymentSource" (id TEXT, "createdAt" TIMESTAMP(3), "registryRequestId" TEXT, chain TEXT,
  network TEXT, position INT, "paymentSourceType" TEXT, address TEXT, scheme TEXT, "payTo" TEXT, resource TEXT,
  extra JSONB, "dynamicAsset" TEXT, "dynamicDecimals" INT, "fixedDecimals" INT);
CREATE TABLE "AgentPricing" (id TEXT, "createdAt" TIMESTAMP(3), "pricingType" TEXT, "registryRequestId" TEXT,
  "supportedPaymentSourceId" TEXT);
CREATE TABLE "AgentFixedPricing" (id TEXT, "createdAt" TIMESTAMP(3), "agentPricingId" TEXT);
CREATE TABLE "ExampleOutput" (id TEXT, "createdAt" TIMESTAMP(3), name TEXT, "mimeType" TEXT, url TEXT,
  "registryRequestId" TEXT);
CREATE TABLE "AgentVerification" (id TEXT, "createdAt" TIMESTAMP(3), "registryRequestId" TEXT, method TEXT,
  "schemaVersion" TEXT, "issuerAid" TEXT, "issuerOobi" TEXT, "schemaSaid" TEXT, "schemaOobi" TEXT,
  "credentialSaid" TEXT, "credentialOobi" TEXT, "credentialRegistry" TEXT, "holderAid" TEXT, "holderOobi" TEXT,
  "baseUrl" TEXT);
CREATE TABLE "InboxAgentRegistrationRequest" (id TEXT, "createdAt" TIMESTAMP(3), "paymentSourceId" TEXT,
  "smartContractWalletId" TEXT, "recipientHotWalletId" TEXT, "deregistrationHotWalletId" TEXT,
  "sendFundingLovelace" BIGINT, name TEXT, description TEXT, "agentSlug" TEXT, "metadataVersion" INT,
  "agentIdentifier" TEXT, state TEXT, "registrationStateLastChangedAt" TIMESTAMP(3), error TEXT,
  "requestedById" TEXT);
CREATE TABLE "PaymentRequest" (id TEXT, "createdAt" TIMESTAMP(3), "paymentSourceId" TEXT,
  "smartContractWalletId" TEXT, "nextActionId" TEXT, metadata TEXT, "pricingType" TEXT, "blockchainIdentifier" TEXT,
  "agentName" TEXT, "submitResultTime" BIGINT, "unlockTime" BIGINT, "externalDisputeUnlockTime" BIGINT,
  "inputHash" TEXT, "onChainState" TEXT, "requestedById" TEXT, "currentTransactionId" TEXT, "payByTime" BIGINT,
  "buyerReturnAddress" TEXT, "sellerReturnAddress" TEXT, "invoiceBaseId" TEXT);
CREATE TABLE "PaymentActionData" (id TEXT, "createdAt" TIMESTAMP(3), "requestedAction" TEXT, "resultHash" TEXT,
  "submittedTxHash" TEXT, "errorNote" TEXT);
CREATE TABLE "PurchaseRequest" (id TEXT, "createdAt" TIMESTAMP(3), "paymentSourceId" TEXT, "sellerWalletId" TEXT,
  "smartContractWalletId" TEXT, "nextActionId" TEXT, metadata TEXT, "pricingType" TEXT, "blockchainIdentifier" TEXT,
  "agentName" TEXT, "submitResultTime" BIGINT, "unlockTime" BIGINT, "externalDisputeUnlockTime" BIGINT,
  "inputHash" TEXT, "onChainState" TEXT, "requestedById" TEXT, "currentTransactionId" TEXT, "payByTime" BIGINT,
  "buyerReturnAddress" TEXT, "sellerReturnAddress" TEXT, "isLimitedToHotWallets" BOOLEAN);
CREATE TABLE "PurchaseActionData" (id TEXT, "createdAt" TIMESTAMP(3), "requestedAction" TEXT,
  "submittedTxHash" TEXT, "errorNote" TEXT);
CREATE TABLE "Transaction" (id TEXT, "createdAt" TIMESTAMP(3), "txHash" TEXT, status TEXT, "intendedTxHash" TEXT);
CREATE TABLE "WalletBase" (id TEXT, "createdAt" TIMESTAMP(3), "walletVkey" TEXT, "walletAddress" TEXT);
CREATE TABLE "_HotWalletLimit" ("A" TEXT, "B" TEXT);
CREATE TABLE "_PaymentTransactionHistory" ("A" TEXT, "B" TEXT);
CREATE TABLE "_PurchaseTransactionHistory" ("A" TEXT, "B" TEXT);
CREATE TABLE "X402Network" (id TEXT, "createdAt" TIMESTAMP(3), "caip2Id" TEXT, "displayName" TEXT, "rpcUrl" TEXT,
  "isTestnet" BOOLEAN, "isEnabled" BOOLEAN, "defaultAsset" TEXT, "defaultAssetDecimals" INT,
  "facilitatorWalletId" TEXT, "facilitatorUrl" TEXT, "facilitatorAuthEnc" TEXT, "createdById" TEXT);
CREATE TABLE "X402WalletSecret" (id TEXT, "createdAt" TIMESTAMP(3), "encryptedPrivateKey" TEXT);
CREATE TABLE "X402EvmWallet" (id TEXT, "createdAt" TIMESTAMP(3), "networkId" TEXT, "secretId" TEXT, address TEXT,
  type TEXT, note TEXT, "deletedAt" TIMESTAMP(3), "createdById" TEXT);
CREATE TABLE "X402WalletBudget" (id TEXT, "createdAt" TIMESTAMP(3), "apiKeyId" TEXT, "evmWalletId" TEXT, asset TEXT,
  "remainingAmount" BIGINT, "spentAmount" BIGINT, enabled BOOLEAN, "createdById" TEXT);
CREATE TABLE "X402EvmWalletLowBalanceRule" (id TEXT, "createdAt" TIMESTAMP(3), "evmWalletId" TEXT, asset TEXT,
  "thresholdAmount" BIGINT, enabled BOOLEAN);
CREATE TABLE "X402PaymentAttempt" (id TEXT, "createdAt" TIMESTAMP(3), direction TEXT, status TEXT);
CREATE TABLE "X402Settlement" (id TEXT, "createdAt" TIMESTAMP(3), "paymentAttemptId" TEXT);
CREATE TABLE "WebhookEndpoint" (id TEXT, "createdAt" TIMESTAMP(3), url TEXT, "urlHash" TEXT, "authToken" TEXT,
  format TEXT, events TEXT[], name TEXT, "paymentSourceId" TEXT, "createdByApiKeyId" TEXT, "isActive" BOOLEAN);
CREATE TABLE "WebhookDelivery" (id TEXT, "createdAt" TIMESTAMP(3), status TEXT);
CREATE TABLE "InvoiceBase" (id TEXT, "createdAt" TIMESTAMP(3), "invoiceId" TEXT);
CREATE TABLE "InvoiceRevision" (id TEXT, "createdAt" TIMESTAMP(3), "invoiceBaseId" TEXT, "revisionNumber" INT,
  "isCancelled" BOOLEAN, "cancellationId" TEXT, "generatedPDFInvoice" BYTEA, "generatedCancelledInvoice" BYTEA);
`;
