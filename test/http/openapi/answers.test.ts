import { describe, expect, it } from "vitest";
import { type JsonSchema, openApi } from "../../support/endpoints/document.ts";

interface Answer {
  operation: `${"get" | "post" | "patch" | "delete"} /${string}`;
  /** Fields that always have a value, as paths below `data`; strings may be empty. */
  valued: string;
  /** Fields that are whole numbers. */
  whole?: string;
}

const REGISTRY_SOURCE = "id network policyId note rpcProviderApiKey latestPage";
const INBOX_AGENT =
  "id name agentSlug state createdAt updatedAt agentIdentifier metadataVersion SmartContractWallet SmartContractWallet.walletVkey SmartContractWallet.walletAddress";
const ENTRY =
  "id name status statusUpdatedAt image uptimeCheckCount uptimeCount apiBaseUrl agentIdentifier AgentPricing";
const METADATA =
  "name apiBaseUrl image Tags ExampleOutputs Author Author.name Legal AgentPricing metadataVersion";
const ESCROW =
  "id createdAt updatedAt blockchainIdentifier agentIdentifier pricingType totalBuyerChainFees totalSellerChainFees nextActionOrOnChainStateOrResultLastChangedAt nextActionLastChangedAt onChainStateOrResultLastChangedAt requestedById cooldownTime cooldownTimeOtherParty inputHash resultHash NextAction NextAction.requestedAction TransactionHistory WithdrawnForSeller WithdrawnForBuyer PaymentSource";
const WEBHOOK = "id url name Events isActive createdAt updatedAt";

const prefixed = (prefix: string, names: string) =>
  names.replaceAll(/\S+/g, (name) => `${prefix}.${name}`);

/** What the interface says of answers: which fields are never null, and which are integers. */
const ANSWERS: Answer[] = [
  {
    operation: "patch /api/v1/registry-source",
    valued: `${REGISTRY_SOURCE} type`,
    whole: "latestPage",
  },
  { operation: "delete /api/v1/registry-source", valued: REGISTRY_SOURCE, whole: "latestPage" },
  {
    operation: "patch /api/v1/payment-source-extended",
    valued:
      "id createdAt updatedAt network paymentType syncInProgress smartContractAddress AdminWallets AdminWallets.walletAddress AdminWallets.order feeRatePermille FeeReceiverNetworkWallet FeeReceiverNetworkWallet.walletAddress lastIdentifierChecked PaymentSourceConfig PaymentSourceConfig.rpcProviderApiKey PaymentSourceConfig.rpcProvider PurchasingWallets PurchasingWallets.note SellingWallets SellingWallets.note",
    whole: "AdminWallets.order feeRatePermille",
  },
  {
    operation: "post /api/v1/inbox-agents/deregister",
    valued: INBOX_AGENT,
    whole: "metadataVersion",
  },
  { operation: "delete /api/v1/inbox-agents", valued: INBOX_AGENT, whole: "metadataVersion" },
  {
    operation: "post /api/v1/inbox-agent-registration-refresh",
    valued: prefixed(
      "registration",
      "id createdAt updatedAt statusUpdatedAt status name agentSlug agentIdentifier metadataVersion RegistrySource",
    ),
    whole: "registration.metadataVersion",
  },
  {
    operation: "post /api/v1/registry-diff",
    valued: prefixed("entries", ENTRY),
    whole: "entries.uptimeCheckCount entries.uptimeCount",
  },
  {
    operation: "get /api/v1/payment-information",
    valued: `${ENTRY} sellerWallet createdAt updatedAt metadataVersion`,
    whole: "uptimeCheckCount uptimeCount metadataVersion",
  },
  {
    operation: "get /api/v1/registry/wallet",
    valued: `Assets.policyId Assets.assetName Assets.agentIdentifier ${prefixed("Assets.Metadata", METADATA)}`,
    whole: "Assets.Metadata.metadataVersion",
  },
  {
    operation: "delete /api/v1/registry",
    valued: `${METADATA} id state SmartContractWallet`,
    whole: "metadataVersion",
  },
  {
    operation: "get /api/v1/webhooks",
    valued: prefixed("Webhooks", `${WEBHOOK} failureCount`),
    whole: "Webhooks.failureCount",
  },
  { operation: "patch /api/v1/webhooks", valued: `${WEBHOOK} format` },
  {
    operation: "get /api/v1/purchase/diff/onchain-state-or-result",
    valued: prefixed("Purchases", `${ESCROW} ActionHistory PaidFunds SellerWallet`),
  },
  {
    operation: "get /api/v1/payment/diff/onchain-state-or-result",
    valued: prefixed("Payments", `${ESCROW} RequestedFunds`),
  },
  {
    operation: "post /api/v1/api-key",
    valued: "id status token permission usageLimited maxUsageCredits accumulatedUsageCredits",
  },
  {
    operation: "get /api/v1/x402/networks",
    valued: prefixed(
      "Networks",
      "id caip2Id displayName rpcUrl isTestnet isEnabled createdAt updatedAt",
    ),
  },
  {
    operation: "get /api/v1/x402/payments",
    valued: prefixed(
      "PaymentAttempts",
      "id createdAt updatedAt direction status caip2Network asset payTo amount",
    ),
  },
  {
    operation: "post /v1/admin/worker-bots/versions/migrate",
    valued: "total moved alreadyOnVersion failed failures",
    whole: "total moved alreadyOnVersion failed",
  },
];

/** The schemas that a field may have: what it refers to, and its alternatives. */
function formsOf(schema: JsonSchema): JsonSchema[] {
  if (typeof schema.$ref === "string")
    return formsOf(openApi.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
  const parts = (schema.oneOf ?? schema.anyOf) as JsonSchema[] | undefined;
  return parts ? parts.flatMap(formsOf) : [schema];
}

/** The types of a field, `missing` where it may be left out; items of lists have no step of their own. */
function typesOf(schema: JsonSchema, [name, ...rest]: string[]): unknown[] {
  const forms = formsOf(schema);
  if (name === undefined) return forms.flatMap(({ type }) => type ?? []);
  return forms.flatMap((form) => {
    if (form.items) return typesOf(form.items as JsonSchema, [name, ...rest]);
    if (form.type === "null") return [];
    const field = (form.properties as Record<string, JsonSchema> | undefined)?.[name];
    const isRequired = (form.required as string[] | undefined)?.includes(name);
    return [...(isRequired ? [] : ["missing"]), ...(field ? typesOf(field, rest) : [])];
  });
}

describe.each(ANSWERS)("the answer of $operation", ({ operation, valued, whole = "" }) => {
  const [method = "", path = ""] = operation.split(" ");
  const answer = openApi.paths[path]?.[method]?.responses[200];
  const typesAt = (field: string) =>
    typesOf(answer?.content?.["application/json"].schema ?? {}, ["data", ...field.split(".")]);

  it.each(valued.split(" "))("always has a value for %s", (field) => {
    const types = typesAt(field);
    expect(types).not.toHaveLength(0);
    expect(types).not.toContain("null");
    // The type of a registry source is left out after its deletion alone.
    if (field !== "type") expect(types).not.toContain("missing");
  });

  it.each(whole === "" ? [] : whole.split(" "))("has a whole number for %s", (field) => {
    expect(typesAt(field)).toEqual(["integer"]);
  });
});
