import * as z from "zod";
import {
  AGENT_IDENTIFIER,
  answerText,
  described,
  named,
  recordId,
  TX_HASH,
  timestamp,
  walletVkey,
} from "../http/openapi/fields.ts";
import { funds, network, unit } from "../http/openapi/ledger.ts";
import {
  BUYER,
  buyer,
  currencyShown,
  month,
  rateSource,
  reverseCharge,
  reverseChargeText,
  SELLER,
  seller,
} from "./schemas.ts";

const PDF = "JVBERi0xLjcKJcOkw7zDtsOfCjIgMCBvYmoK";

/** A decimal in an answer. */
function decimal(what: string, example: string) {
  return described(z.string(), `${what}, as decimal text.`, example);
}

/** A unit that was paid in, and its rate. */
const conversion = z.object({
  unit,
  amount: decimal("The total paid in it, in its smallest unit", "10000000"),
  rate: decimal("Invoice currency per smallest unit", "0.00000045"),
  source: described(z.string().nullable(), "Where the rate is from; null: the request.", "ECB"),
  decimals: described(
    z.int().min(0).optional(),
    "Of a whole coin, when the request named them: the paper shows whole coins.",
    6,
  ),
});
const conversions = described(z.array(conversion), "The rates that were used.");

const xmlOmitted = described(
  z.string().nullable(),
  "Why the paper has no machine-readable invoice in it; null: it has.",
  null,
);
const XML = '<?xml version="1.0" encoding="UTF-8"?>…';

export const issuedInvoice = z.object({
  invoice: answerText("PDF in base64.", PDF),
  cancellationInvoice: described(
    z.string().optional(),
    "PDF in base64: the cancellation of the invoice that this one replaces; left out without one.",
    PDF,
  ),
  xml: described(
    z.string().nullable(),
    "The EN 16931 invoice that the PDF holds as `factur-x.xml`; null when it is left out.",
    XML,
  ),
  xmlOmitted,
  cancellationXml: described(
    z.string().nullable().optional(),
    "The same of the cancellation; null when it is left out.",
    XML,
  ),
  Conversions: conversions,
});

const walletOf = (of: string, example: string) => walletVkey(`the ${of}'s wallet`, example);

const identifierText = "The agent that was paid; empty when it has none.";

/** A line of an invoice. Those of earlier versions do not say what was bought. */
const item = z.object({
  name: answerText("What was bought.", "Agent: Steady translator"),
  quantity: decimal("The number of jobs", "1"),
  unitPrice: decimal("Price of one job, without VAT", "3.7815126050"),
  net: decimal("Price of all, without VAT", "3.78"),
  agentIdentifier: described(z.string().optional(), identifierText, AGENT_IDENTIFIER),
  unit: described(z.string().optional(), "What each job was paid in.", ""),
  amount: described(z.string().optional(), "Of the unit, for each job.", "10000000"),
  parts: described(
    z.int().min(0).optional(),
    "In how many units each job was paid, from this line on.",
    1,
  ),
  from: described(z.string().optional(), "The day of the first job, `YYYY-MM-DD`.", "2026-11-02"),
  to: described(z.string().optional(), "The day of the last job, `YYYY-MM-DD`.", "2026-11-28"),
});

const coveredPayment = z.object({
  line: described(z.int().min(1), "Number of the first line that bills it, from 1.", 1),
  date: answerText("When it became billable, `YYYY-MM-DD`.", "2026-11-02"),
  txHash: described(
    z.string().nullable(),
    "The last transaction of the payment when it was billed, hex.",
    TX_HASH,
  ),
  agentIdentifier: answerText(identifierText, AGENT_IDENTIFIER),
  Funds: described(
    z.array(
      z.object({
        unit,
        amount: decimal("Amount in the unit", "10000000"),
      }),
    ),
    "What is billed, in the units that were paid.",
  ),
});

export const invoiceRecord = named(
  "MonthlyInvoice",
  "An invoice or a cancellation that was issued.",
  z.object({
    id: recordId("this paper", "01m80ye2k5j2m4p6r8t0w3y5a7"),
    invoiceBaseId: recordId("what it is a revision of", "01m80ye2k5h7n9q3s6v8x1z4b0"),
    kind: described(
      named("InvoiceKind", "What a paper is.", z.enum(["Invoice", "Cancellation"])),
      "What it is.",
      "Invoice",
    ),
    revisionNumber: described(z.int().min(1), "Counts the revisions of a base, from 1.", 1),
    invoiceNumber: answerText("Its number, without gaps per seller and year.", "AG-2026-0001"),
    isCancelled: described(z.boolean(), "Whether another paper cancels it.", false),
    createdAt: timestamp("When it was issued."),
    network,
    month,
    invoiceDate: answerText("Date of issue, `YYYY-MM-DD`.", "2026-11-30"),
    buyerWalletVkey: walletOf("buyer", BUYER),
    sellerWalletVkey: walletOf("seller", SELLER),
    invoiceCurrency: currencyShown,
    vatRate: decimal("VAT as a fraction", "0.19"),
    reverseCharge: described(reverseCharge, reverseChargeText, false),
    netTotal: decimal("Sum without VAT", "3.78"),
    vatTotal: decimal("VAT", "0.72"),
    grossTotal: decimal("Sum with VAT", "4.50"),
    roundingAmount: decimal(
      "What was paid less `grossTotal`, from rounding; may be negative",
      "0.00",
    ),
    paidTotal: decimal("What was paid on the chain", "4.50"),
    Seller: seller,
    Buyer: buyer,
    Items: described(z.array(item), "What was bought."),
    Conversions: conversions,
    CoveredPayments: described(
      z.array(coveredPayment).nullable(),
      "The payments that it bills; null when they are too many to be listed.",
    ),
    xmlOmitted,
    Cancels: described(
      z
        .object({
          number: answerText("Its number.", "AG-2026-0001"),
          issueDate: answerText("Its date of issue.", "2026-11-30"),
          reasons: described(z.array(answerText("A reason.", "the buyer changed")), "Why."),
        })
        .nullable(),
      "The invoice that this one cancels; null: none.",
    ),
    pdf: described(
      z.string().nullable().optional(),
      "PDF in base64; left out unless asked for with `includePdf`.",
      PDF,
    ),
  }),
);

export const uninvoicedPayment = named(
  "UninvoicedPayment",
  "A payment that is on no invoice.",
  z.object({
    id: recordId("the payment"),
    blockchainIdentifier: answerText("Names the escrow on the chain.", "030160a608c0cc0ac0ec"),
    onChainState: answerText("State of the escrow on the chain.", "Withdrawn"),
    createdAt: timestamp("When the payment was made."),
    billableAt: timestamp("When it became billable."),
    buyerWalletVkey: walletOf("buyer", BUYER),
    sellerWalletVkey: walletOf("seller", SELLER),
    Funds: described(funds, "What is billed."),
  }),
);

export const rateRecord = named(
  "InvoiceRate",
  "The end-of-month rate of a unit.",
  z.object({
    unit,
    currency: currencyShown,
    month,
    rate: decimal("Currency per smallest unit", "0.00000045"),
    source: answerText(rateSource, "ECB"),
    updatedAt: timestamp("When it was stored."),
  }),
);
