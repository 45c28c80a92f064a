import * as z from "zod";
import { CANONICAL_UNIT_PATTERN, normalizeUnit } from "../../chain/unit.ts";
import { network, requestUnit, unitKey } from "../../http/openapi/chain-fields.ts";
import { described, EXAMPLE_WALLET_ADDRESS, named } from "../../http/openapi/fields.ts";
import {
  booleanParameter,
  optionalTextParameter,
  pageParameters,
  textParameter,
} from "../../http/openapi/parameters.ts";
import { CURRENCY_CODES } from "./currencies.ts";
import { toPlainDecimal } from "./fractions.ts";
import { LANGUAGES } from "./invoice-content.ts";
import { MONTH_PATTERN } from "./month.ts";
import { optionalEmail, optionalText, requiredText } from "./printable-text.ts";

export const EXAMPLE_BUYER_VKEY = "751ae084d032d89cd03a9bc0bef32f80c0f5f42b15bf50df84181b30";
export const EXAMPLE_SELLER_VKEY = "1c7c886d2fdf5eddbefe6eec00e4428a2949079d3a5061cf11b55cdd";

const currencyCode = named(
  "Currency",
  "A currency of ISO 4217, in lower case.",
  z.enum(CURRENCY_CODES, "must be a currency code of ISO 4217"),
);
export const currencyResponse = described(
  currencyCode,
  "Currency of ISO 4217, in lower case.",
  "eur",
);
/** A currency as it is sent: its letters may be large or small. */
const currency = described(
  z
    .string()
    .toLowerCase()
    .pipe(currencyCode)
    .meta({ wire: { $ref: "#/components/schemas/Currency" } }),
  "Currency of ISO 4217, in any case of letters.",
  "eur",
);
const keyHash = z
  .string()
  .regex(/^[0-9a-fA-F]{56}$/, "must be a payment key hash: 56 hex characters");

export const month = described(
  z.string().regex(MONTH_PATTERN, "must be a month, YYYY-MM"),
  "Calendar month in UTC, `YYYY-MM`.",
  "2026-11",
);

const day = z.iso
  .date("must be a date, YYYY-MM-DD")
  .refine((value) => value >= "1970", "must be a date from 1970 on")
  .meta({ wire: { type: "string", format: "date", pattern: "^(19[7-9]|[2-9])" } });

const partyText = (what: string, example: string) =>
  described(optionalText(100).nullish(), what, example);

const partyFields = {
  country: described(requiredText(100), "Country.", "Germany"),
  city: described(requiredText(100), "City.", "Berlin"),
  zipCode: described(requiredText(20), "Postal code.", "10115"),
  street: described(requiredText(100), "Street.", "Invalidenstraße"),
  streetNumber: described(requiredText(20), "Number of the house.", "1"),
  email: described(optionalEmail(100).nullish(), "E-mail address.", "billing@example.com"),
  phone: partyText("Telephone number.", "+49 30 123456"),
  name: partyText("Name of a person; one of both names is required.", "A. Demo"),
  companyName: partyText("Name of a company; one of both names is required.", "Demo Agents GmbH"),
  vatNumber: partyText(
    "VAT number: the seller's is required with VAT or reverse charge, the buyer's with reverse charge.",
    "DE123456789",
  ),
};

/** The members of a party that the buyer's signature covers. */
export const PARTY_FIELDS = Object.keys(partyFields);

const nonBlankName = { type: "string", pattern: "\\S" };

const party = named(
  "Party",
  "The seller or the buyer. A blank text in an optional field counts as omitted.",
  z
    .object(partyFields)
    .refine(({ companyName, name }) => Boolean(companyName?.trim() || name?.trim()), {
      error: "companyName or name is required",
    })
    .meta({
      anyOf: [
        { properties: { companyName: nonBlankName }, required: ["companyName"] },
        { properties: { name: nonBlankName }, required: ["name"] },
      ],
    }),
);
export const seller = described(party, "The seller.");
export const buyer = described(party, "The buyer.");

const EXAMPLE_SENTENCE = "Thank you for your order.";

export const language = named("InvoiceLanguage", "A language of invoices.", z.enum(LANGUAGES));

const invoiceText = (max: number, what: string, example: string) =>
  described(optionalText(max).optional(), what, example);

const invoiceTexts = z.object({
  itemNamePrefix: described(
    optionalText(100).default("Agent: "),
    "Text before an item's name. May be empty.",
    "Agent: ",
  ),
  itemNameSuffix: described(
    optionalText(100).default(""),
    "Text after an item's name.",
    " (monthly)",
  ),
  title: invoiceText(100, "Title of the invoice.", "Invoice"),
  description: invoiceText(1000, "Text under the title.", EXAMPLE_SENTENCE),
  greeting: invoiceText(1000, "Text before the items.", EXAMPLE_SENTENCE),
  closing: invoiceText(1000, "Text after the items.", EXAMPLE_SENTENCE),
  signature: invoiceText(1000, "Name under the closing.", "Demo Agents GmbH"),
  footer: invoiceText(1000, "Text at the foot of each page.", "Demo Agents GmbH"),
  terms: invoiceText(1000, "Terms of payment.", "Paid through the escrow."),
  privacy: invoiceText(1000, "Text about privacy.", "See our privacy policy."),
  buyerReference: invoiceText(
    100,
    "The buyer's reference (BT-10), in Germany the Leitweg-ID of an authority.",
    "04011000-12345-67",
  ),
  idPrefix: invoiceText(100, "Text before the number.", "AG-"),
  logo: described(
    textParameter(1000).optional(),
    "A logo. The service keeps the text and does not print it.",
    "https://agents.example.com/logo.png",
  ),
  date: described(day.optional(), "Date of issue, from 1970 on; default: today.", "2026-11-30"),
  language: described(language.default("en-gb"), "Language of the built-in texts.", "en-gb"),
  localizationFormat: described(
    language.optional(),
    "Format of numbers and dates. Default: the format of the language.",
    "de",
  ),
});

export const reverseCharge = z.boolean();
export const reverseChargeText = "Whether the buyer owes the VAT.";

/** The document has one spelling of each unit: two spellings of one unit are not allowed together. */
const canonicalUnit = unitKey.meta({
  wire: { type: "string", pattern: CANONICAL_UNIT_PATTERN.source },
});

/** Values by unit; each unit may be named once. */
function recordByUnit<Value>(value: z.ZodType<Value>) {
  return z.record(canonicalUnit, value).transform((given, problems) => {
    const values = new Map<string, Value>();
    for (const [key, one] of Object.entries(given)) {
      const unit = normalizeUnit(key);
      if (values.has(unit))
        problems.addIssue({ code: "custom", path: [key], message: "names its unit twice" });
      values.set(unit, one);
    }
    return Object.fromEntries(values);
  });
}

const decimals = z.int().min(0).max(30);
/** Smaller ones have more digits than are printed. */
const MIN_RATE = 1e-30;
const rateNumber = z.number().positive().min(MIN_RATE).max(1e12);

const billingFields = {
  buyerWalletVkey: described(
    keyHash,
    "Payment key hash of the buyer's wallet.",
    EXAMPLE_BUYER_VKEY,
  ),
  sellerWalletVkey: described(
    keyHash.optional(),
    "Payment key hash of the seller's wallet; needed when the buyer bought from several sellers in the month.",
    EXAMPLE_SELLER_VKEY,
  ),
  month,
  invoiceCurrency: currency,
  CurrencyConversion: described(
    recordByUnit(rateNumber).default({}),
    "Rates by unit, in the invoice currency. A rate is per minor unit, or per whole coin of a unit in `decimals`. The empty text is the native coin.",
    { "": 4.5e-7 },
  ),
  decimals: described(
    recordByUnit(decimals).default({}),
    "Decimals of a whole coin, by unit. The `CurrencyConversion` rate of such a unit is per whole coin, and the invoice shows whole coins.",
    {},
  ),
  confirmRate: described(
    z.boolean().default(false),
    "Whether to accept a rate that differs from another known rate by a factor of 100 or more, and an amount that rounds to zero.",
    false,
  ),
  Invoice: described(invoiceTexts.prefault({}), "Texts of the invoice."),
  vatRate: described(
    z
      .number()
      .min(0)
      .max(1)
      .refine((rate) => /^\d(\.\d{1,6})?$/.test(String(rate)), "must have at most six decimals")
      .default(0)
      .meta({ format: "at-most-six-decimals" }),
    "VAT as a fraction with at most six decimals. Amounts on the chain include it.",
    0.19,
  ),
  reverseCharge: described(reverseCharge.default(false), reverseChargeText, false),
  forceRegenerate: described(
    z.boolean().default(false),
    "Whether to issue a new revision although nothing changed.",
    false,
  ),
  Seller: seller,
  Buyer: buyer,
};

export const RETRIEVE_ACTION = "RetrieveMonthlyInvoices";

export const signedInvoiceBody = z.object({
  signature: described(
    textParameter(2000).meta({ format: "wallet-signature" }),
    "COSE_Sign1 of the message or of its blake2b-224 (CIP-30 signData, CIP-8), or a bare ed25519 signature of the message, in hex.",
    `845869a3012704582082cde2e6948734808e7202f81f5e2fa3e80ae92cf818b4eb${"00".repeat(64)}`,
  ),
  key: described(
    textParameter(2000),
    "COSE_Key or a bare ed25519 public key, in hex.",
    "a401010327200621582082cde2e6948734808e7202f81f5e2fa3e80ae92cf818b4ebd506acb34583e174",
  ),
  walletAddress: described(
    textParameter(500).meta({ format: "bech32-address" }),
    "Address of the buyer's wallet, in bech32.",
    EXAMPLE_WALLET_ADDRESS,
  ),
  validUntil: described(
    z.int().min(0),
    "Unix milliseconds; at most two hours ahead.",
    1795331845398,
  ),
  action: described(z.literal(RETRIEVE_ACTION), "The signed action.", RETRIEVE_ACTION),
  ...billingFields,
});

export const internalInvoiceBody = z.object({ network, ...billingFields });

/** The fields of both requests about the invoice itself. */
export type BillingRequest = Omit<z.output<typeof internalInvoiceBody>, "network">;

export const invoiceListQuery = z.object({
  ...pageParameters,
  network,
  month,
  invoiceBaseId: optionalTextParameter(
    "All documents of this base, instead of the latest document of each base.",
    "01m80ye2k5h7n9q3s6v8x1z4b0",
  ),
  includePdf: described(booleanParameter(false), "Whether to include the PDFs."),
});

export const uninvoicedQuery = z.object({
  ...pageParameters,
  network,
  month,
  buyerWalletVkey: described(
    keyHash.optional(),
    "Only payments of the buyer's wallet with this payment key hash.",
    EXAMPLE_BUYER_VKEY,
  ),
});

/** A decimal with a non-zero digit; as small as `MIN_RATE`. */
const RATE_PATTERN = /^(?=.*[1-9])\d{1,15}(\.\d{1,30})?$/;
const RATE_ERROR = "must be a decimal above zero, as a number or as text with at most 30 decimals";
const rateText = "Currency per minor unit, or per whole coin with `decimals`";
export const rateSourceText = "Source of the rate.";

export const rateBody = z.object({
  unit: requestUnit,
  currency,
  month,
  rate: described(
    z
      .union([rateNumber.transform(String), z.string().regex(RATE_PATTERN, RATE_ERROR)], {
        error: ({ input }) => (input === undefined ? "is required" : RATE_ERROR),
      })
      .transform(toPlainDecimal),
    `${rateText}, as a number or as decimal text.`,
    "0.00000045",
  ),
  decimals: described(
    decimals.default(0),
    "Decimals of the coin that `rate` is for. 0: `rate` is per minor unit.",
    0,
  ),
  confirmRate: described(
    z.boolean().default(false),
    "Whether to accept a rate that differs from the replaced rate or the previous rate by a factor of 100 or more.",
    false,
  ),
  source: described(requiredText(100), rateSourceText, "ECB"),
});

export const ratesQuery = z.object({
  limit: pageParameters.limit,
  month,
  currency: described(currency.optional(), "Only rates in this currency."),
});
