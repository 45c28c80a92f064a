/** Pays resources that ask for a payment over x402, within the budgets of the API key. */
import * as z from "zod";
import { generateHex } from "../chain/hex.ts";
import { defineTool } from "./tool.ts";
import {
  ToolError,
  type ToolResult,
  trustFormatted,
  trustLiteral,
  wrapUntrusted,
} from "./tool-result.ts";
import { parseJson, type ResourceResponse, type ToolService } from "./tool-service.ts";

const QUOTE_ID_BYTES = 10;
const MAX_TERMS = 20;
/** Longer texts would be cut. */
const CHUNK_LENGTH = 2_000;

const requestFields = {
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .describe("URL of the resource."),
  method: z.enum(["GET", "POST"]).default("GET").describe("Method of the request."),
  body: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("JSON that is posted. Put no secret in it."),
};

const evmAddress = z.string().regex(/^0x[0-9a-fA-F]{40}$/, "must be 0x and 40 hex digits");

/** What a payment costs, and who gets it. */
const paymentTerms = z.object({
  scheme: z.enum(["exact", "upto"]),
  network: z.string().regex(/^eip155:[1-9]\d{0,14}$/, "must have the form eip155:<chain number>"),
  asset: evmAddress.describe("The token."),
  payTo: evmAddress.describe("The payee."),
  amount: z
    .string()
    .regex(/^\d{1,78}$/, "must be a whole number in decimal digits")
    .describe("Minor units of the token. Of the scheme upto: the most that it may cost."),
});
type PaymentTerms = z.output<typeof paymentTerms>;

/** What a resource answers with the status 402 (x402 v2), as far as a payment needs it. */
const paymentRequired = z.object({
  x402Version: z.literal(2),
  resource: z.looseObject({ url: z.string() }),
  accepts: z.array(z.looseObject({})).max(MAX_TERMS),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});

export const quoteResourceTool = defineTool({
  name: "quote_resource",
  title: "Get the price of a resource",
  description:
    "Asks a URL what it costs over x402. Pays nothing, but sends `body` to the URL. Before you call pay_resource, show one of `payments` to the person you work for. The scheme upto may cost any amount up to the one shown.",
  access: "+PAY",
  hints: { isReadOnly: false, isOpenWorld: true },
  input: z.object(requestFields),
  async run({ service }, { url, ...request }) {
    const answer = await service.callResource(url, request);
    const required = readPaymentRequired(answer);
    if (required === null) return toFreeResult(answer);
    const decimals = await readTokenDecimals(service);
    const payments = required.accepts.flatMap((accepted) => {
      const terms = paymentTerms.safeParse(accepted);
      return terms.success ? { terms: terms.data, accepted } : [];
    });
    return {
      paymentRequired: true,
      quoteId: trustFormatted("hex", generateHex(QUOTE_ID_BYTES)),
      payments: payments.map(({ terms, accepted }) => ({
        ...trustTerms(terms),
        decimals: decimals.get(toTokenKey(terms)) ?? null,
        ...wrapUntrusted({ extra: accepted.extra }),
      })),
      toPay: trustLiteral(
        "After the person agrees, call pay_resource with the same request, this quoteId, and one of these payments as confirmedPayment.",
      ),
      ...wrapUntrusted({ resource: required.resource }),
    };
  },
});

export const payResourceTool = defineTool({
  name: "pay_resource",
  title: "Pay for a resource",
  description:
    "SPENDS MONEY. Pays a URL over x402 from a wallet that the API key has a budget for, and returns its answer. `confirmedPayment` must be the payment of quote_resource to which the person agreed; otherwise, nothing is paid. Calls with the same quoteId pay once. Of the scheme upto, the budget is debited the maximum, and the rest returns later.",
  access: "+PAY",
  hints: { isReadOnly: false, isOpenWorld: true },
  input: z.object({
    ...requestFields,
    quoteId: z
      .string()
      .regex(new RegExp(`^[0-9a-f]{${2 * QUOTE_ID_BYTES}}$`))
      .describe("The quoteId that quote_resource answered."),
    confirmedPayment: paymentTerms.describe("One of `payments` that quote_resource answered."),
  }),
  async run({ service }, { url, quoteId, confirmedPayment, ...request }) {
    const quoted = await service.callResource(url, request);
    const required = readPaymentRequired(quoted);
    if (required === null) return toFreeResult(quoted);
    const { resource, extensions } = required;
    const accepted = required.accepts.find((terms) => areSameTerms(terms, confirmedPayment));
    if (!accepted)
      throw new ToolError(
        trustLiteral(
          "Nothing was paid, because the resource does not offer confirmedPayment. Get a new quote.",
        ),
        { offered: required.accepts },
      );
    const name = `mcp_${quoteId}`;
    const isNamed = extensions?.["payment-identifier"] !== undefined;
    const payment = await service.callApi<{ attemptId: string; xPaymentHeader: string }>(
      "POST",
      "/x402/pay",
      {
        paymentRequired: { x402Version: 2, resource, accepts: [accepted], extensions },
        ...(isNamed && { paymentIdentifier: name }),
      },
      isNamed ? undefined : name,
    );
    const paid = {
      signed: true,
      attemptId: trustFormatted("id", payment.attemptId),
      payment: trustTerms(confirmedPayment),
    };
    try {
      const answer = await service.callResource(url, {
        ...request,
        payment: payment.xPaymentHeader,
      });
      const isDelivered = answer.status >= 200 && answer.status < 300;
      return {
        ...paid,
        isDelivered,
        status: answer.status,
        ...(!isDelivered && { advice: REPEAT_ADVICE }),
        ...wrapUntrusted({
          answer: toChunks(answer.text),
          settlement: decodeHeader(answer.headers.get("payment-response")),
        }),
      };
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      return {
        ...paid,
        isDelivered: false,
        advice: REPEAT_ADVICE,
        ...(error.detail && { untrusted_data: error.detail }),
      };
    }
  },
});

const REPEAT_ADVICE = trustLiteral(
  "The payment may have been settled. Repeat the call with the same arguments: it sends the same payment, which pays once. Do not get a new quote before.",
);

/** The terms of an answer; null where the resource asks for no payment. @throws ToolError */
function readPaymentRequired({ status, headers, text }: ResourceResponse) {
  if (status !== 402) return null;
  const header = headers.get("payment-required");
  const parsed = paymentRequired.safeParse(
    header === null ? parseJson(text) : decodeHeader(header),
  );
  if (!parsed.success)
    throw new ToolError(
      trustLiteral("The resource does not ask for a payment of x402 version 2. Nothing was paid."),
    );
  return parsed.data;
}

function toFreeResult({ status, text }: ResourceResponse): ToolResult {
  return { paymentRequired: false, status, ...wrapUntrusted({ answer: toChunks(text) }) };
}

function trustTerms({ scheme, network, asset, payTo, amount }: PaymentTerms): ToolResult {
  return {
    scheme: scheme === "upto" ? trustLiteral("upto") : trustLiteral("exact"),
    network: trustFormatted("network", network),
    asset: trustFormatted("evmAddress", asset),
    payTo: trustFormatted("evmAddress", payTo),
    amount: trustFormatted("digits", amount),
  };
}

function areSameTerms(offered: object, confirmed: PaymentTerms): boolean {
  const { data } = paymentTerms.safeParse(offered);
  return (
    data !== undefined &&
    data.scheme === confirmed.scheme &&
    data.network === confirmed.network &&
    data.asset.toLowerCase() === confirmed.asset.toLowerCase() &&
    data.payTo.toLowerCase() === confirmed.payTo.toLowerCase() &&
    BigInt(data.amount) === BigInt(confirmed.amount)
  );
}

function toTokenKey({ network, asset }: Pick<PaymentTerms, "network" | "asset">): string {
  return `${network} ${asset.toLowerCase()}`;
}

interface AvailableNetwork {
  caip2Id: string;
  defaultAsset: string | null;
  defaultAssetDecimals: number | null;
}

/** Decimals of the tokens that the service knows, as their contracts say. */
async function readTokenDecimals(service: ToolService): Promise<Map<string, number>> {
  const { Networks } = await service.callApi<{ Networks: AvailableNetwork[] }>(
    "GET",
    "/x402/networks/available",
  );
  return new Map(
    Networks.flatMap(({ caip2Id: network, defaultAsset: asset, defaultAssetDecimals }) =>
      asset === null || defaultAssetDecimals === null
        ? []
        : [[toTokenKey({ network, asset }), defaultAssetDecimals] as const],
    ),
  );
}

function toChunks(text: string): string[] {
  return text.match(new RegExp(`[^]{1,${CHUNK_LENGTH}}`, "g")) ?? [];
}

function decodeHeader(header: string | null): unknown {
  return header === null ? null : parseJson(Buffer.from(header, "base64").toString("utf8"));
}
