import * as z from "zod";
import { toCanonicalJson } from "../canonical-json.ts";
import { generateHex } from "../chain/hex.ts";
import { ESCROW_TIME_NAMES } from "../escrow/model/escrow-record.ts";
import { network } from "../http/openapi/chain-fields.ts";
import { type AgentEntry, agentIdentifier } from "./agent-tools.ts";
import {
  areSameFunds,
  type Funds,
  funds,
  type Purchase,
  toPurchaseResult,
  trustFunds,
} from "./purchase-result.ts";
import { defineTool } from "./tool.ts";
import {
  ToolError,
  type ToolResult,
  trustFormatted,
  trustLiteral,
  wrapUntrusted,
} from "./tool-result.ts";
import type { ToolService } from "./tool-service.ts";

const NONCE_BYTES = 10;
const jobInput = z
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

/** What an agent answers to `start_job` (MIP-003), as far as a purchase needs it. */
const startJobResponse = z.object({
  job_id: z.unknown().optional(),
  id: z.unknown().optional(),
  blockchainIdentifier: z.string(),
  sellerVKey: z.string(),
  payByTime: time,
  submitResultTime: time,
  unlockTime: time,
  externalDisputeUnlockTime: time,
  amounts: z.unknown().optional(),
  /** The price in a quote that the seller passes on as `POST /payment` answered it. */
  RequestedFunds: z.unknown().optional(),
  supportedPaymentSourceIndex: z.int().nullish(),
  sellerReturnAddress: z.string().nullish(),
});

interface PurchaseVerification {
  PaidFunds: Funds;
  Cost: { Locked: Funds; usageCredits: number };
  pricingType: string;
  SellerWallet: { walletVkey: string };
  Warnings: string[];
}

export const quoteJobTool = defineTool({
  name: "quote_job",
  title: "Get a quote",
  description:
    "Requests a quote from an agent, and checks it against the registry and the seller's signature. Buys nothing, but sends `input` to the agent: put no secret in `input`. Before you call purchase_job, show the `price` to the person you work for.",
  access: "+PAY",
  hints: { isReadOnly: false, isOpenWorld: true },
  input: z.object({
    network,
    agentIdentifier,
    input: jobInput,
    identifierFromPurchaser: nonce.optional().describe("Left out: a new one."),
  }),
  async run({ service }, { network, agentIdentifier, input, ...given }) {
    const path = `/payment-information?agentIdentifier=${encodeURIComponent(agentIdentifier)}`;
    const agent = await service.callApi<AgentEntry>("GET", path);
    const nonce = given.identifierFromPurchaser ?? generateHex(NONCE_BYTES);
    const job = await startJob(service, agent, {
      identifier_from_purchaser: nonce,
      input_data: input,
    });
    const { pricingType } = agent.AgentPricing as { pricingType: string };
    const quoted = order.safeParse({
      ...job,
      network,
      agentIdentifier,
      sellerVkey: job.sellerVKey,
      // Our own, of what we sent: a seller that hashes something else signs another one.
      inputHash: await hashInput(nonce, input),
      identifierFromPurchaser: nonce,
      ...(pricingType === "Dynamic" && { Amounts: job.amounts ?? job.RequestedFunds }),
      supportedPaymentSourceIndex: job.supportedPaymentSourceIndex ?? undefined,
      sellerReturnAddress: job.sellerReturnAddress ?? undefined,
    });
    if (!quoted.success) {
      const fields = quoted.error.issues.map(({ path }) => path.join("."));
      throw new ToolError(
        trustLiteral("The agent's quote is invalid: see untrusted_data.fields."),
        { fields },
      );
    }
    const verified = await service.callApi<PurchaseVerification>(
      "POST",
      "/purchase/verify",
      quoted.data,
    );
    const { PaidFunds, Cost, Warnings } = verified;
    const price = trustFunds(PaidFunds);
    if (price === null)
      throw new ToolError(
        trustLiteral("The price has a unit that no token has. Do not buy this job."),
      );
    return {
      price,
      lockedIncludingWhatComesBack: trustFunds(Cost.Locked),
      order: toOrderResult(quoted.data),
      toBuy: trustLiteral(
        "After the person agrees, call purchase_job with this order and this price as confirmedPrice.",
      ),
      ...wrapUntrusted({ jobId: job.job_id ?? job.id ?? null, warnings: Warnings }),
    };
  },
});

export const purchaseJobTool = defineTool({
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
      const { PaidFunds } = await service.callApi<PurchaseVerification>(
        "POST",
        "/purchase/verify",
        order,
      );
      if (!areSameFunds(PaidFunds, confirmedPrice))
        throw new ToolError(
          trustLiteral(
            "Nothing was bought, because the price differs from confirmedPrice. Get a new quote.",
          ),
          { price: PaidFunds, confirmedPrice },
        );
      // A fixed price may change between the two: it is compared with what was confirmed.
      const body = { ...order, Amounts: confirmedPrice };
      const purchase = await service.callApi<Purchase>("POST", "/purchase", body);
      return {
        bought: true,
        spent: trustFunds(purchase.PaidFunds),
        purchase: toPurchaseResult(purchase),
      };
    } catch (error) {
      if (!(error instanceof ToolError) || error.status !== 409) throw error;
      const { network, blockchainIdentifier } = order;
      const path = "/purchase/resolve-blockchain-identifier";
      const earlier = await service.callApi<Purchase>("POST", path, {
        network,
        blockchainIdentifier,
      });
      return { bought: false, boughtBefore: true, purchase: toPurchaseResult(earlier) };
    }
  },
});

/** The order of a verified quote, text by text: the agent wrote much of it. */
function toOrderResult({ Amounts, supportedPaymentSourceIndex, ...texts }: Order): ToolResult {
  const { sellerReturnAddress } = texts;
  return {
    network: trustFormatted("network", texts.network),
    ...Object.fromEntries(HEX_FIELDS.map((name) => [name, trustFormatted("hex", texts[name])])),
    ...Object.fromEntries(
      ESCROW_TIME_NAMES.map((name) => [name, trustFormatted("digits", texts[name])]),
    ),
    ...(Amounts && { Amounts: trustFunds(Amounts) }),
    ...(supportedPaymentSourceIndex !== undefined && { supportedPaymentSourceIndex }),
    ...(sellerReturnAddress !== undefined && {
      sellerReturnAddress: trustFormatted("address", sellerReturnAddress),
    }),
  };
}

async function startJob(service: ToolService, { apiBaseUrl }: AgentEntry, body: object) {
  const answer = await service.callAgent(apiBaseUrl, "/start_job", body);
  const job = startJobResponse.safeParse(answer);
  if (!job.success)
    throw new ToolError(trustLiteral("The agent returned no quote. Try another agent."));
  return job.data;
}

/** MIP-004: SHA-256 of the purchaser's identifier, `;` and the input as canonical JSON (RFC 8785). */
async function hashInput(nonce: string, input: unknown): Promise<string> {
  const text = new TextEncoder().encode(`${nonce};${toCanonicalJson(input)}`);
  return Buffer.from(await crypto.subtle.digest("SHA-256", text)).toString("hex");
}
