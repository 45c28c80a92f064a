import { formatAddress } from "../../src/chain/address.ts";
import { newId } from "../../src/db/id.ts";

/** Whom something may be shown to, beside the owner's key and Admins. */
export type Audience =
  /** Anybody with a key. */
  | "public"
  /** Every key that is valid for the network. */
  | "network"
  /** Every key that is valid for the EVM chain. */
  | "chain"
  /** Of those, the keys that may use a wallet of the payment source. */
  | "source"
  /** Of those, the keys that may use the wallet. */
  | "wallets"
  /** The owner alone. */
  | "owner"
  /** Admins alone. */
  | "admin";

/** What requests name of the owner's, and whom it may be shown to. */
export const RESOURCES = {
  network: "public",
  otherNetwork: "public",
  sourceId: "source",
  otherSourceId: "public",
  contractAddress: "network",
  policyId: "network",
  registrySourceId: "network",
  sellerId: "wallets",
  sellerVkey: "wallets",
  sellerAddress: "wallets",
  buyerId: "wallets",
  buyerVkey: "wallets",
  buyerAddress: "wallets",
  fundingId: "wallets",
  agentIdentifier: "network",
  agentRegistrationId: "wallets",
  failedRegistrationId: "wallets",
  openRegistrationName: "wallets",
  inboxIdentifier: "network",
  mintedInboxIdentifier: "network",
  hostileIdentifier: "network",
  inboxSlug: "network",
  inboxRegistrationId: "network",
  inboxAgentId: "wallets",
  failedInboxAgentId: "wallets",
  lockedIdentifier: "wallets",
  lockedPaymentId: "wallets",
  lockedPurchaseId: "wallets",
  disputedIdentifier: "wallets",
  disputedPaymentId: "wallets",
  payableIdentifier: "wallets",
  refundableIdentifier: "wallets",
  failedIdentifier: "wallets",
  failedPaymentAt: "wallets",
  failedPurchaseAt: "wallets",
  quotedIdentifier: "wallets",
  quotedPaymentId: "wallets",
  boughtIdentifier: "wallets",
  boughtPurchaseId: "wallets",
  proposalId: "wallets",
  billedPaymentId: "wallets",
  unbilledPaymentId: "wallets",
  invoiceBaseId: "owner",
  buyerKeyHash: "wallets",
  webhookId: "owner",
  deliveryId: "wallets",
  caip2: "chain",
  x402SourceId: "owner",
  x402PayTo: "owner",
  attemptId: "owner",
  evmWalletId: "owner",
  evmWalletAddress: "owner",
  evmRuleId: "admin",
  ownerId: "wallets",
  otherKeyId: "admin",
  lowBalanceRuleId: "wallets",
  topUpRuleId: "admin",
  transferId: "wallets",
  transferTo: "wallets",
  walletTransactionHash: "wallets",
  unit: "public",
  ticker: "public",
  rateMonth: "public",
  botId: "admin",
  botVersionId: "admin",
  spareVersionId: "admin",
  spareWalletId: "source",
} as const satisfies Record<string, Audience>;

export type ResourceName = keyof typeof RESOURCES;
export type Resources = Readonly<Record<ResourceName, string>>;

/** What other answers hold by right: the chain shows it to everybody, or it is a time. */
export const NO_MARKERS: readonly ResourceName[] = [
  ...(["sellerVkey", "sellerAddress", "failedPaymentAt", "failedPurchaseAt"] as const),
];

/** What is the same in every deployment: a request that names it names nothing of the owner's. */
const SHARED: readonly ResourceName[] = ["network", "otherNetwork", "rateMonth"];

/** The names of what a request says, given what it is made of. */
export function findNames(
  resources: Resources,
  make: (resources: Resources) => unknown,
): ResourceName[] {
  const read = new Set<ResourceName>();
  make(
    new Proxy(resources, {
      get: (target, name: ResourceName) => {
        read.add(name);
        return target[name];
      },
    }),
  );
  return [...read].filter((name) => !SHARED.includes(name));
}

/** Resources of the same form that do not exist. An agent is of the same policy. */
export function makeUnknownResources(resources: Resources): Resources {
  const entries = (Object.keys(RESOURCES) as ResourceName[]).map((name) => {
    const value = resources[name];
    return [name, SHARED.includes(name) ? value : madeUp(value, resources.policyId)] as const;
  });
  return Object.fromEntries(entries) as Resources;
}

function madeUp(value: string, policyId: string): string {
  if (value === policyId) return randomHex(value.length);
  if (value.startsWith(policyId)) return policyId + randomHex(value.length - policyId.length);
  if (/^([0-9a-f]{2}){28,}$/.test(value)) return randomHex(value.length);
  if (/^0x[0-9a-fA-F]{40}$/.test(value)) return `0x${randomHex(40)}`;
  if (value.startsWith("addr_test1")) {
    const payment = { kind: "key", hash: randomHex(56) } as const;
    return formatAddress({ network: "Preprod", payment, stake: null });
  }
  if (value.startsWith("eip155:")) return "eip155:424242";
  if (/^\d{4}-\d\d-\d\dT/.test(value)) return new Date(Date.parse(value) - 1000).toISOString();
  if (/^[0-9a-z]{26}$/.test(value)) return newId(Date.now());
  return `none${randomHex(8)}`;
}

function randomHex(length: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(length / 2))).toString("hex");
}
