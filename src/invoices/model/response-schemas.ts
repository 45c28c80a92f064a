import * as z from "zod";
import { funds, network, unit } from "../../http/openapi/chain-fields.ts";
import {
  countField,
  described,
  EXAMPLE_AGENT_IDENTIFIER,
  EXAMPLE_TX_HASH,
  idField,
  named,
  nullableTextField,
  textField,
  timestampField,
  walletVkeyField,
} from "../../http/openapi/fields.ts";
import {
  buyer,
  currencyResponse,
  EXAMPLE_BUYER_VKEY,
  EXAMPLE_SELLER_VKEY,
  language,
  month,
  rateSourceText,
  reverseCharge,
  reverseChargeText,
  seller,
} from "./schemas.ts";

const EXAMPLE_PDF = "JVBERi0xLjcKJcOkw7zDtsOfCjIgMCBvYmoK";

/** A decimal in an answer. */
function decimal(what: string, example: string) {
  return described(z.string(), `${what}, as decimal text.`, example);
}

/** A unit that was paid in, and its rate. */
const conversion = z.object({
  unit,
  amount: decimal("Total paid in the unit, in minor units", "10000000"),
  rate: decimal("Invoice currency per minor unit", "0.00000045"),
  source: nullableTextField("Source of the rate. Null: the request.", "ECB"),
  decimals: described(
    z.int().min(0).optional(),
    "Decimals of a whole coin, if the request named them. The invoice then shows whole coins.",
    6,
  ),
});
const conversions = described(z.array(conversion), "The rates of the invoice.");

const xmlOmitted = nullableTextField(
  "Reason why the PDF contains no machine-readable invoice. Null: the PDF contains one.",
  null,
);
const EXAMPLE_XML = '<?xml version="1.0" encoding="UTF-8"?>…';

export const issuedInvoice = z.object({
  invoice: textField("PDF in base64.", EXAMPLE_PDF),
  cancellationInvoice: described(
    z.string().optional(),
    "PDF in base64: the cancellation of the replaced invoice. Omitted without a cancellation.",
    EXAMPLE_PDF,
  ),
  xml: nullableTextField(
    "The EN 16931 invoice that the PDF contains as `factur-x.xml`. Null: see `xmlOmitted`.",
    EXAMPLE_XML,
  ),
  xmlOmitted,
  cancellationXml: described(
    z.string().nullable().optional(),
    "The EN 16931 invoice of the cancellation. Null: none.",
    EXAMPLE_XML,
  ),
  Conversions: conversions,
});

const walletVkeyOf = (of: string, example: string) =>
  walletVkeyField(`the ${of}'s wallet`, example);

const identifierText = "Identifier of the paid agent. May be empty.";

const item = z.object({
  name: textField("Name of the item.", "Agent: Steady translator"),
  quantity: decimal("The number of jobs", "1"),
  unitPrice: decimal("Price of one job, without VAT", "3.7815126050"),
  net: decimal("Price of all, without VAT", "3.78"),
  agentIdentifier: described(z.string(), identifierText, EXAMPLE_AGENT_IDENTIFIER),
  unit: described(z.string(), "Unit of the payment for each job.", ""),
  amount: described(z.string(), "Amount of the unit for each job.", "10000000"),
  parts: countField("Number of units in which each job was paid, from this line on.", 1),
  from: described(z.string(), "The day of the first job, `YYYY-MM-DD`.", "2026-11-02"),
  to: described(z.string(), "The day of the last job, `YYYY-MM-DD`.", "2026-11-28"),
});

const coveredPayment = z.object({
  line: described(z.int().min(1), "Number of the first line that bills the payment, from 1.", 1),
  date: textField("Day on which the payment became billable, `YYYY-MM-DD`.", "2026-11-02"),
  txHash: nullableTextField(
    "The last transaction of the payment when it was billed, hex.",
    EXAMPLE_TX_HASH,
  ),
  agentIdentifier: textField(identifierText, EXAMPLE_AGENT_IDENTIFIER),
  Funds: described(
    z.array(
      z.object({
        unit,
        amount: decimal("Amount in the unit", "10000000"),
      }),
    ),
    "Billed amounts, in the paid units.",
  ),
});

export const invoiceRecord = named(
  "MonthlyInvoice",
  "An invoice or a cancellation that was issued.",
  z.object({
    id: idField("the document", "01m80ye2k5j2m4p6r8t0w3y5a7"),
    invoiceBaseId: idField("the invoice base", "01m80ye2k5h7n9q3s6v8x1z4b0"),
    kind: described(
      named("InvoiceKind", "Kind of a document.", z.enum(["Invoice", "Cancellation"])),
      "Description of the resource.",
      "Invoice",
    ),
    revisionNumber: described(z.int().min(1), "Number of the revision of the base, from 1.", 1),
    invoiceNumber: textField("Invoice number, without gaps per seller and year.", "AG-2026-0001"),
    isCancelled: described(z.boolean(), "Whether another document cancels this document.", false),
    createdAt: timestampField("Time of issue."),
    network,
    month,
    invoiceDate: textField("Date of issue, `YYYY-MM-DD`.", "2026-11-30"),
    buyerWalletVkey: walletVkeyOf("buyer", EXAMPLE_BUYER_VKEY),
    sellerWalletVkey: walletVkeyOf("seller", EXAMPLE_SELLER_VKEY),
    invoiceCurrency: currencyResponse,
    vatRate: decimal("VAT as a fraction", "0.19"),
    reverseCharge: described(reverseCharge, reverseChargeText, false),
    netTotal: decimal("Sum without VAT", "3.78"),
    vatTotal: decimal("VAT", "0.72"),
    grossTotal: decimal("Sum with VAT", "4.50"),
    roundingAmount: decimal(
      "Amount paid less `grossTotal`, from rounding; may be negative",
      "0.00",
    ),
    paidTotal: decimal("Amount paid on the chain", "4.50"),
    language: described(language, "Language of the built-in texts.", "en-gb"),
    localizationFormat: described(language, "Format of numbers and dates.", "de"),
    title: nullableTextField("Title of the invoice. Null: the built-in one.", null),
    description: nullableTextField("Text under the title. Null: none.", null),
    Seller: seller,
    Buyer: buyer,
    Items: described(z.array(item), "Name of the item."),
    Conversions: conversions,
    CoveredPayments: described(
      z.array(coveredPayment).nullable(),
      "The billed payments. Null: too many to list.",
    ),
    xmlOmitted,
    Cancels: described(
      z
        .object({
          number: textField("Number of the cancelled invoice.", "AG-2026-0001"),
          issueDate: textField("Date of issue of the cancelled invoice.", "2026-11-30"),
          reasons: described(
            z.array(textField("A reason.", "the buyer changed")),
            "Reasons of the cancellation.",
          ),
        })
        .nullable(),
      "The invoice that this document cancels. Null: none.",
    ),
    pdf: described(
      z.string().nullable().optional(),
      "PDF in base64. Omitted without `includePdf`.",
      EXAMPLE_PDF,
    ),
  }),
);

export const uninvoicedPayment = named(
  "UninvoicedPayment",
  "A payment that is on no invoice.",
  z.object({
    id: idField("the payment"),
    blockchainIdentifier: textField(
      "Identifier of the escrow on the chain.",
      "030160a608c0cc0ac0ec",
    ),
    onChainState: textField("State of the escrow on the chain.", "Withdrawn"),
    createdAt: timestampField("Time at which the payment was created."),
    billableAt: timestampField("Time at which the payment became billable."),
    buyerWalletVkey: walletVkeyOf("buyer", EXAMPLE_BUYER_VKEY),
    sellerWalletVkey: walletVkeyOf("seller", EXAMPLE_SELLER_VKEY),
    Funds: described(funds, "Billed amounts."),
  }),
);

export const rateRecord = named(
  "InvoiceRate",
  "The end-of-month rate of a unit.",
  z.object({
    unit,
    currency: currencyResponse,
    month,
    rate: decimal("Currency per minor unit", "0.00000045"),
    source: textField(rateSourceText, "ECB"),
    updatedAt: timestampField("Time of storage."),
  }),
);
