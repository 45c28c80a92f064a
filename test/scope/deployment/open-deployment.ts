import { env } from "cloudflare:workers";
import { BUYER_VKEY, request } from "../../invoices/support.ts";
import { emptyTables } from "../../support/app.ts";
import { type ChainContract, TestChain } from "../../support/chain.ts";
import { native } from "../../support/escrow/dispute-fixture.ts";
import type { Shown } from "../../support/escrow/quote-fixture.ts";
import { found } from "../../support/registry/registration-fixture.ts";
import { X402Fixture } from "../../x402/x402-fixture.ts";
import {
  type Audience,
  makeUnknownResources,
  NO_MARKERS,
  RESOURCES,
  type ResourceName,
  type Resources,
} from "../resources.ts";
import { Service } from "../service.ts";
import type { Stranger } from "../strangers.ts";
import * as administration from "./administration.ts";
import * as agents from "./agents.ts";
import * as escrows from "./escrows.ts";
import * as wallets from "./wallets.ts";
import * as webhooks from "./webhooks.ts";
import { addX402Resources, RESOURCE_URL, type X402Resources } from "./x402.ts";

/** Text that an answer may hold for its audience alone. */
export interface Marker {
  name: string;
  value: string;
  audience: Audience;
}

/** A busy service: what the owner has in it, and the keys that ask for it. */
export interface Deployment {
  service: Service;
  resources: Resources;
  madeUp: Resources;
  markers: readonly Marker[];
  tokens: Readonly<Record<Stranger | "owner", string>>;
  endpoints: webhooks.Endpoints;
  escrows: escrows.Escrows;
  proposal: { id: string; message: string };
  x402: X402Resources;
  /** A contract that no payment source follows, and a policy that no registry source does. */
  free: { contract: ChainContract; policyId: string };
}

/** Sets up sources, wallets, agents, escrows, webhooks, invoices and x402, as if used for long. */
export async function openDeployment(): Promise<Deployment> {
  await emptyTables();
  const x402 = await X402Fixture.create("84532-scope");
  const service = new Service(await TestChain.create());
  await service.chain.act([{ do: "publish" }]);
  const managed = await wallets.addWallets(service, x402.caip2);
  const { tokens } = managed;
  const endpoints = await webhooks.subscribe(service, managed);
  const registered = await agents.addAgents(service, managed);
  const traded = await escrows.addEscrows(service, managed, registered.agentIdentifier);
  const sold = await addX402Resources(x402, tokens.owner);
  const administered = await administration.addAdministration(service, managed);
  const proposal = await propose(service, traded);
  await service.made("POST /invoice/monthly/internal", {
    ...{ network: "Preprod", sellerWalletVkey: managed.seller.vkey },
    ...request({ month: escrows.BILLED_MONTH }),
  });
  await env.DB.prepare("UPDATE invoice_document SET created_by_id = ?").bind(wallets.OWNER).run();
  await service.webhooks.settle();
  const resources: Resources = {
    ...registered,
    ...administered,
    ...nameEscrows(traded),
    network: "Preprod",
    otherNetwork: "Mainnet",
    sourceId: managed.source.id,
    otherSourceId: managed.elsewhere.id,
    contractAddress: managed.contract.address,
    policyId: managed.contract.policyId,
    sellerId: managed.seller.id,
    sellerVkey: managed.seller.vkey,
    sellerAddress: managed.seller.address,
    buyerId: managed.buyer.id,
    buyerVkey: managed.buyer.vkey,
    buyerAddress: managed.buyer.address,
    fundingId: managed.fundingId,
    openRegistrationName: agents.OPEN_NAME,
    inboxSlug: agents.SLUG,
    proposalId: proposal.id,
    invoiceBaseId: await only("SELECT id FROM invoice_base"),
    buyerKeyHash: BUYER_VKEY,
    webhookId: endpoints.owner.id,
    deliveryId: await only(
      `SELECT event_id AS id FROM webhook_delivery WHERE endpoint_id = '${endpoints.owner.id}'
       AND status = 'Success' AND kind = 'PAYMENT_ON_CHAIN_STATUS_CHANGED'`,
    ),
    caip2: x402.caip2,
    x402SourceId: sold.source.id,
    x402PayTo: sold.source.payTo,
    attemptId: sold.attemptId,
    evmWalletId: sold.wallet.id,
    evmWalletAddress: sold.wallet.address,
    evmRuleId: sold.ruleId,
    ownerId: wallets.OWNER,
    walletTransactionHash: administration.TRANSACTION_HASH,
    unit: administration.UNIT,
    ticker: administration.TICKER,
    rateMonth: escrows.BILLED_MONTH,
  };
  return {
    ...{ service, resources, tokens, endpoints, proposal, escrows: traded, x402: sold },
    madeUp: makeUnknownResources(resources),
    markers: makeMarkers(resources, endpoints.owner),
    free: managed.free,
  };
}

async function propose(service: Service, { identifiers, payments }: escrows.Escrows) {
  const disputed = found(
    payments,
    ({ blockchainIdentifier }) => blockchainIdentifier === identifiers.disputed,
  );
  const locked = BigInt(disputed.RequestedFunds[0].amount);
  return service.made<{ id: string; message: string }>("POST /dispute/proposal", {
    ...{ network: "Preprod", blockchainIdentifier: identifiers.disputed },
    ...{ BuyerFunds: native(locked), SellerFunds: [] },
  });
}

function nameEscrows({ identifiers, payments, purchases, ...made }: escrows.Escrows) {
  const of = (list: Shown[], name: escrows.LockedName): Shown =>
    found(list, ({ blockchainIdentifier }) => blockchainIdentifier === identifiers[name]);
  return {
    lockedIdentifier: identifiers.locked,
    lockedPaymentId: of(payments, "locked").id as string,
    lockedPurchaseId: of(purchases, "locked").id as string,
    disputedIdentifier: identifiers.disputed,
    disputedPaymentId: of(payments, "disputed").id as string,
    payableIdentifier: identifiers.payable,
    refundableIdentifier: identifiers.refundable,
    failedIdentifier: identifiers.failed,
    failedPaymentAt: of(payments, "failed").updatedAt as string,
    failedPurchaseAt: of(purchases, "failed").updatedAt as string,
    quotedIdentifier: made.quoted.blockchainIdentifier as string,
    quotedPaymentId: made.quoted.id as string,
    boughtIdentifier: made.bought.blockchainIdentifier as string,
    boughtPurchaseId: made.purchase.id as string,
    billedPaymentId: made.billedId,
    unbilledPaymentId: made.unbilledId,
  };
}

/** What may be found in no answer but those for its audience: resources, and what only marks them. */
function makeMarkers(resources: Resources, endpoint: webhooks.Endpoint): Marker[] {
  const named = (Object.keys(RESOURCES) as ResourceName[]).map((name) => {
    return { name, value: resources[name], audience: RESOURCES[name] as Audience };
  });
  return [
    ...named.filter(({ name, audience }) => audience !== "public" && !NO_MARKERS.includes(name)),
    { name: "metadata", value: escrows.METADATA, audience: "owner" },
    { name: "note of a wallet", value: wallets.NOTE_OF_SELLER, audience: "wallets" },
    { name: "key of the provider", value: wallets.PROVIDER_KEY, audience: "admin" },
    { name: "key of the registry's provider", value: agents.REGISTRY_KEY, audience: "admin" },
    { name: "name of a key", value: administration.KEY_NAME, audience: "admin" },
    { name: "name of the webhook", value: webhooks.WEBHOOK_NAME, audience: "owner" },
    { name: "token of the webhook", value: webhooks.AUTH_TOKEN, audience: "owner" },
    { name: "secret of the webhook", value: endpoint.secret, audience: "owner" },
    { name: "path of the webhook", value: endpoint.path, audience: "owner" },
    { name: "resource", value: RESOURCE_URL, audience: "owner" },
    { name: "bought funds", value: "2000003", audience: "wallets" },
    { name: "result", value: escrows.RESULT, audience: "wallets" },
  ];
}

/** The id that a query finds first. */
async function only(sql: string): Promise<string> {
  const id = await env.DB.prepare(sql).first<string>("id");
  if (id === null) throw new Error(`nothing was found by ${sql}`);
  return id;
}
