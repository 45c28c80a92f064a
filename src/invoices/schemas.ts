import { z } from "@hono/zod-openapi";
import { NETWORKS } from "../chain/network.ts";
import { flag, page, text } from "../http/parameters.ts";
import { LANGUAGES } from "./content.ts";
import { CURRENCIES, type Currency, plainDecimal } from "./money.ts";
import { parseMonth } from "./month.ts";
import { RETRIEVE_ACTION } from "./signature.ts";

const currency = z.enum(Object.keys(CURRENCIES) as [Currency, ...Currency[]]);
const network = z.enum(NETWORKS);
const keyHash = z
  .string()
  .regex(/^[0-9a-fA-F]{56}$/, "must be a payment key hash: 56 hex characters");

export const month = z
  .string()
  .refine((value) => parseMonth(value) !== null, "must be a month, YYYY-MM")
  .openapi({ example: "2025-09", description: "Calendar month in UTC." });

const day = z.iso.date("must be a date, YYYY-MM-DD");

const partyFields = {
  country: text(100),
  city: text(100),
  zipCode: text(20),
  street: text(100),
  streetNumber: text(20),
  email: z.email("must be an e-mail address").max(100).nullish(),
  phone: text(100).nullish(),
  name: text(100).nullish(),
  companyName: text(100).nullish(),
  vatNumber: text(100).nullish(),
};

/** The members of a party that the buyer's signature covers. */
export const PARTY_FIELDS = Object.keys(partyFields);

const party = z
  .object(partyFields)
  .refine(({ companyName, name }) => Boolean(companyName?.trim() || name?.trim()), {
    error: "companyName or name is required",
  })
  .openapi("Party");

const invoiceTexts = z.object({
  itemNamePrefix: text(100).default("Agent: "),
  itemNameSuffix: text(100, 0).default(""),
  title: text(100).optional(),
  description: text(1000).optional(),
  greeting: text(1000).optional(),
  closing: text(1000).optional(),
  signature: text(1000).optional(),
  footer: text(1000).optional(),
  terms: text(1000).optional(),
  privacy: text(1000).optional(),
  idPrefix: text(100).optional().openapi({ description: "Put before the number." }),
  date: day.optional().openapi({ description: "Date of issue; default: today." }),
  language: z.enum(LANGUAGES).default("en-gb"),
  localizationFormat: z
    .enum(LANGUAGES)
    .optional()
    .openapi({ description: "How numbers and dates are written; default: as the language does." }),
});

const billing = {
  buyerWalletVkey: keyHash,
  sellerWalletVkey: keyHash.optional().openapi({
    description: "Needed when the buyer bought from several sellers in the month.",
  }),
  month,
  invoiceCurrency: currency,
  CurrencyConversion: z.record(text(250, 0), z.number().positive().max(1e12)).default({}).openapi({
    description:
      "Invoice currency per one of the unit that amounts are counted in; the native coin is the empty text.",
  }),
  Invoice: invoiceTexts.prefault({}),
  vatRate: z
    .number()
    .min(0)
    .max(1)
    .refine((rate) => /^\d(\.\d{1,6})?$/.test(String(rate)), "must have at most six decimals")
    .default(0)
    .openapi({ description: "A fraction. Amounts on the chain include it." }),
  reverseCharge: z.boolean().default(false),
  forceRegenerate: z.boolean().default(false),
  Seller: party,
  Buyer: party,
};

export const monthlyBody = z.object({
  signature: text(2000).openapi({
    description: "COSE_Sign1 (CIP-30 signData) or a bare ed25519 signature, hex.",
  }),
  key: text(2000).openapi({ description: "COSE_Key or a bare ed25519 public key, hex." }),
  walletAddress: text(500),
  validUntil: z
    .int()
    .min(0)
    .openapi({ description: "Epoch milliseconds; at most two hours ahead." }),
  action: z.literal(RETRIEVE_ACTION),
  ...billing,
});

export const internalBody = z.object({ network, ...billing });

/** What both requests say about the invoice itself. */
export type BillingRequest = Omit<z.output<typeof internalBody>, "network">;

export const issuedInvoice = z.object({
  invoice: z.string().openapi({ description: "PDF in base64." }),
  cancellationInvoice: z.string().optional().openapi({
    description: "PDF in base64: the cancellation of the invoice that this one replaces.",
  }),
});

export const listQuery = z.object({
  ...page,
  network,
  month,
  invoiceBaseId: text()
    .optional()
    .openapi({ description: "All papers of one base, in place of the latest of each." }),
  includePdf: flag(false),
});

const timestamp = z.iso.datetime();
const decimal = z.string();

export const invoiceRecord = z
  .object({
    id: z.string(),
    invoiceBaseId: z.string(),
    kind: z.enum(["Invoice", "Cancellation"]),
    revisionNumber: z.int(),
    invoiceNumber: z.string(),
    isCancelled: z.boolean(),
    createdAt: timestamp,
    network,
    month: z.string(),
    invoiceDate: z.string(),
    buyerWalletVkey: z.string(),
    sellerWalletVkey: z.string(),
    invoiceCurrency: currency,
    vatRate: decimal,
    reverseCharge: z.boolean(),
    netTotal: decimal,
    vatTotal: decimal,
    grossTotal: decimal,
    Seller: party,
    Buyer: party,
    Items: z.array(
      z.object({ name: z.string(), quantity: decimal, unitPrice: decimal, net: decimal }),
    ),
    Conversions: z.array(
      z.object({ unit: z.string(), amount: decimal, rate: decimal, source: z.string().nullable() }),
    ),
    Cancels: z
      .object({
        number: z.string(),
        issueDate: z.string(),
        reasons: z.array(z.string()),
      })
      .nullable(),
    pdf: z.string().nullable().optional(),
  })
  .openapi("MonthlyInvoice");

export const missingQuery = z.object({
  ...page,
  network,
  month,
  buyerWalletVkey: keyHash.optional(),
});

export const uninvoicedPayment = z
  .object({
    id: z.string(),
    blockchainIdentifier: z.string(),
    onChainState: z.string(),
    createdAt: timestamp,
    billableAt: timestamp,
    buyerWalletVkey: z.string(),
    sellerWalletVkey: z.string(),
    Funds: z.array(z.object({ amount: z.string(), unit: z.string() })),
  })
  .openapi("UninvoicedPayment");

/** A decimal with a digit that is not zero. */
const RATE = /^(?=.*[1-9])\d{1,15}(\.\d{1,30})?$/;

export const rateBody = z.object({
  unit: text(250, 0),
  currency,
  month,
  rate: z
    .union([z.number().positive().max(1e12).transform(String), z.string().regex(RATE)], {
      error: ({ input }) =>
        input === undefined
          ? "is required"
          : "must be a decimal above zero, as a number or as text with at most 30 decimals",
    })
    .transform(plainDecimal)
    .openapi({
      type: "string",
      description: "Currency per one of the unit that amounts are counted in.",
    }),
  source: text(100),
});

export const rateRecord = z
  .object({
    unit: z.string(),
    currency,
    month: z.string(),
    rate: decimal,
    source: z.string(),
    updatedAt: timestamp,
  })
  .openapi("InvoiceRate");

export const ratesQuery = z.object({
  limit: page.limit,
  month,
  currency: currency.optional(),
});
