import * as z from "zod";
import { canonicalJson } from "../canonical-json.ts";
import { network } from "../http/openapi/ledger.ts";
import { type Agent, agentIdentifier } from "./agent-tools.ts";
import { type AnswerObject, ToolError, trustFixed, trustForm } from "./answer-value.ts";
import {
  areSameFunds,
  type Funds,
  funds,
  type Purchase,
  toPurchaseAnswer,
  trustFunds,
} from "./purchase-answer.ts";
import type { Service } from "./service.ts";
import { defineTool } from "./tool.ts";
import { wrapUntrusted } from "./untrusted.ts";

const NONCE_BYTES = 10;
const JOB_INPUT = z
  .record(z.string(), z.unknown())
  .describe("The job's input, by the inputSchema that show_agent answered.");
const hex = (min: number, max = min) =>
  z
    .string()
    .regex(/^[0-9a-fA-F]*$/, "must be hex")
    .min(min)
    .max(max);
const time = z
  .union([z.string().regex(/^[1-9]\d{0,14}$/, "must be Unix milliseconds"), z.int().positive()])
  .transform(String)
  .describe("Unix milliseconds.");

const nonce = z.string().regex(/^([0-9a-f]{2}){7,13}$/, "must be lower-case hex of 7 to 13 bytes");

function newNonce(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(NONCE_BYTES))).toString("hex");
}

/** What `POST /purchase` takes of a quote. */
const order = z
  .object({
    network,
    agentIdentifier,
    blockchainIdentifier: hex(1, 8000),
    sellerVkey: hex(56),
    inputHash: hex(64),
    identifierFromPurchaser: nonce,
    payByTime: time,
    submitResultTime: time,
    unlockTime: time,
    externalDisputeUnlockTime: time,
    Amounts: funds.optional(),
    supportedPaymentSourceIndex: z.int().min(0).max(24).optional(),
    sellerReturnAddress: z.string().max(250).optional(),
  })
  .describe("The `order` that quote_job answered, unchanged.");

type Order = z.output<typeof order>;

const HEX_FIELDS = [
  "agentIdentifier",
  "blockchainIdentifier",
  "sellerVkey",
  "inputHash",
  "identifierFromPurchaser",
] as const;
const TIME_FIELDS = [
  "payByTime",
  "submitResultTime",
  "unlockTime",
  "externalDisputeUnlockTime",
] as const;

/** What an agent answers to `start_job` (MIP-003), as far as a purchase needs it. */
const startedJob = z.object({
  job_id: z.unknown().optional(),
  id: z.unknown().optional(),
  blockchainIdentifier: z.string(),
  sellerVKey: z.string(),
  payByTime: time,
  submitResultTime: time,
  unlockTime: time,
  externalDisputeUnlockTime: time,
  amounts: z.unknown().optional(),
  supportedPaymentSourceIndex: z.int().optional(),
  sellerReturnAddress: z.string().optional(),
});

interface Verified {
  PaidFunds: Funds;
  Cost: { Locked: Funds; usageCredits: number };
  pricingType: string;
  SellerWallet: { walletVkey: string };
  Warnings: string[];
}

export const quoteJob = defineTool({
  name: "quote_job",
  title: "Get a quote",
  description:
    "Requests a quote from an agent, and checks it against the registry and the seller's signature. Buys nothing, but sends `input` to the agent: put no secret in `input`. Before you call purchase_job, show the `price` to the person you work for.",
  access: "+PAY",
  hints: { isReadOnly: false, isOpenWorld: true },
  input: z.object({
    network,
    agentIdentifier,
    input: JOB_INPUT,
    identifierFromPurchaser: nonce.optional().describe("Left out: a new one."),
  }),
  async run({ service }, { network, agentIdentifier, input, ...given }) {
    const path = `/payment-information?agentIdentifier=${encodeURIComponent(agentIdentifier)}`;
    const agent = await service.ask<Agent>("GET", path);
    const nonce = given.identifierFromPurchaser ?? newNonce();
    const job = await startJob(service, agent, {
      identifier_from_purchaser: nonce,
      input_data: input,
    });
    const { amounts, supportedPaymentSourceIndex: index, sellerReturnAddress, sellerVKey } = job;
    const { pricingType } = agent.AgentPricing as { pricingType: string };
    const quoted = order.safeParse({
      ...job,
      network,
      agentIdentifier,
      sellerVkey: sellerVKey,
      // Our own, of what we sent: a seller that hashes something else signs another one.
      inputHash: await hashInput(nonce, input),
      identifierFromPurchaser: nonce,
      ...(pricingType === "Dynamic" && { Amounts: amounts }),
      ...(index !== undefined && { supportedPaymentSourceIndex: index }),
      ...(sellerReturnAddress !== undefined && { sellerReturnAddress }),
    });
    if (!quoted.success) {
      const fields = quoted.error.issues.map(({ path }) => path.join("."));
      throw new ToolError(trustFixed("The agent's quote is invalid: see untrusted_data.fields."), {
        detail: wrapUntrusted({ fields }).untrusted_data,
      });
    }
    const verified = await service.ask<Verified>("POST", "/purchase/verify", quoted.data);
    const { PaidFunds, Cost, Warnings } = verified;
    const price = trustFunds(PaidFunds);
    if (price === null)
      throw new ToolError(
        trustFixed("The price has a unit that no token has. Do not buy this job."),
      );
    return {
      price,
      lockedIncludingWhatComesBack: trustFunds(Cost.Locked),
      order: toOrderAnswer(quoted.data),
      toBuy: trustFixed(
        "After the person agrees, call purchase_job with this order and this price as confirmedPrice.",
      ),
      ...wrapUntrusted({ jobId: job.job_id ?? job.id ?? null, warnings: Warnings }),
    };
  },
});

export const purchaseJob = defineTool({
  name: "purchase_job",
  title: "Buy a quoted job",
  description:
    "SPENDS MONEY. Accepts a quote: an escrow locks the price until the seller delivers, and returns it if the seller does not. `confirmedPrice` must be the price of quote_job to which the person agreed; otherwise, nothing is bought. Repeated calls buy an order only once.",
  access: "+PAY",
  hints: { isReadOnly: false, isOpenWorld: true },
  input: z.object({
    order,
    confirmedPrice: funds.describe("What will be spent, as quote_job answered it in `price`."),
  }),
  async run({ service }, { order, confirmedPrice }) {
    try {
      const { PaidFunds } = await service.ask<Verified>("POST", "/purchase/verify", order);
      if (!areSameFunds(PaidFunds, confirmedPrice))
        throw new ToolError(
          trustFixed(
            "Nothing was bought, because the price differs from confirmedPrice. Get a new quote.",
          ),
          { detail: wrapUntrusted({ price: PaidFunds, confirmedPrice }).untrusted_data },
        );
      // A fixed price may change between the two: it is compared with what was confirmed.
      const body = { ...order, Amounts: confirmedPrice };
      const purchase = await service.ask<Purchase>("POST", "/purchase", body);
      return {
        bought: true,
        spent: trustFunds(purchase.PaidFunds),
        purchase: toPurchaseAnswer(purchase),
      };
    } catch (error) {
      if (!(error instanceof ToolError) || error.status !== 409) throw error;
      const { network, blockchainIdentifier } = order;
      const path = "/purchase/resolve-blockchain-identifier";
      const earlier = await service.ask<Purchase>("POST", path, { network, blockchainIdentifier });
      return { bought: false, boughtBefore: true, purchase: toPurchaseAnswer(earlier) };
    }
  },
});

/** The order of a verified quote, text by text: the agent wrote much of it. */
function toOrderAnswer({ Amounts, supportedPaymentSourceIndex, ...texts }: Order): AnswerObject {
  const { sellerReturnAddress } = texts;
  return {
    network: trustForm("network", texts.network),
    ...Object.fromEntries(HEX_FIELDS.map((name) => [name, trustForm("hex", texts[name])])),
    ...Object.fromEntries(TIME_FIELDS.map((name) => [name, trustForm("digits", texts[name])])),
    ...(Amounts && { Amounts: trustFunds(Amounts) }),
    ...(supportedPaymentSourceIndex !== undefined && { supportedPaymentSourceIndex }),
    ...(sellerReturnAddress !== undefined && {
      sellerReturnAddress: trustForm("address", sellerReturnAddress),
    }),
  };
}

async function startJob(service: Service, { apiBaseUrl }: Agent, body: object) {
  const answer = await service.askAgent(apiBaseUrl, "/start_job", body);
  const job = startedJob.safeParse(answer);
  if (!job.success)
    throw new ToolError(trustFixed("The agent returned no quote. Try another agent."));
  return job.data;
}

/** MIP-004: SHA-256 of the purchaser's identifier, `;` and the input as canonical JSON (RFC 8785). */
async function hashInput(nonce: string, input: unknown): Promise<string> {
  const text = new TextEncoder().encode(`${nonce};${canonicalJson(input)}`);
  return Buffer.from(await crypto.subtle.digest("SHA-256", text)).toString("hex");
}
