/**
 * Sample invoices as pictures: `node devnet/demo/invoice-samples.ts` writes them to docs/, and a test
 * holds them against what the code prints now.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as mupdf from "mupdf";
import { type InvoiceContent, toCancellation } from "../../src/invoices/model/invoice-content.ts";
import {
  groupItems,
  listCoveredPayments,
  priceItems,
} from "../../src/invoices/model/invoice-lines.ts";
import { formatAgentIdentifier } from "../../src/invoices/model/token-names.ts";
import type { FontFiles } from "../../src/invoices/pdf/fonts.ts";
import { renderPdf } from "../../src/invoices/pdf/render-pdf.ts";

/** Pixels per point. */
const SCALE = 1.5;
const DOCS = new URL("../../docs/", import.meta.url);
const TOKEN = `${"c0".repeat(28)}${Buffer.from("tUSDM").toString("hex")}`;

/** The fonts that the Worker bundles, read from the package. */
export function packagedFonts(): FontFiles {
  const read = (path: string) =>
    new Uint8Array(
      readFileSync(fileURLToPath(import.meta.resolve(`@expo-google-fonts/noto-sans/${path}`))),
    );
  return {
    regular: read("400Regular/NotoSans_400Regular.ttf"),
    bold: read("700Bold/NotoSans_700Bold.ttf"),
  };
}

const payment = (agent: string, unit: string, amount: string, times = 1) =>
  Array.from({ length: times }, (_, index) => ({
    id: `${agent}${unit}${amount}${index}`,
    day: `2025-09-${String(3 + 2 * index).padStart(2, "0")}`,
    txHash: createHash("sha256").update(`${agent}${index}`).digest("hex"),
    agentIdentifier: agent.repeat(30),
    funds: [{ unit, amount }],
  }));

const items = groupItems([
  ...payment("1a", "", "5000000", 12),
  ...payment("2b", "", "12500000", 3),
  ...payment("3c", TOKEN, "7500000", 4),
]);
const NAMES: Record<string, string> = {
  "1a": "Translator",
  "2b": "Market research",
  "3c": "Proofreader",
};
const nameOf = ({ agentIdentifier }: { agentIdentifier: string }) =>
  `Agent: ${NAMES[agentIdentifier.slice(0, 2)]} (${formatAgentIdentifier(agentIdentifier)})`;

const RATES: Record<string, string> = { "": "0.0000006871", [TOKEN]: "0.000000852" };

/** An invoice with VAT from Germany to Poland, and one with reverse charge in English. */
const german: InvoiceContent = {
  language: "de",
  format: "de",
  issueDate: "2025-10-02",
  month: "2025-09",
  currency: "eur",
  seller: {
    country: "Deutschland",
    city: "München",
    zipCode: "80331",
    street: "Sendlinger Straße",
    streetNumber: "12a",
    email: "rechnung@agenten.example",
    phone: "+49 89 0000000",
    name: "Jürgen Groß",
    companyName: "Agentenwerk GmbH",
    vatNumber: "DE123456789",
  },
  buyer: {
    country: "Polen",
    city: "Łódź",
    zipCode: "90-001",
    street: "ulica Piotrkowska",
    streetNumber: "77",
    email: "ksiegowosc@zazolc.example",
    phone: null,
    name: "Grażyna Żółć",
    companyName: "Zażółć Gęślą Jaźń Sp. z o.o.",
    vatNumber: null,
  },
  sellerVkey: "22".repeat(28),
  buyerVkey: "11".repeat(28),
  texts: {
    title: null,
    description: null,
    greeting: null,
    closing: null,
    signature: "Mit freundlichen Grüßen, Agentenwerk GmbH",
    footer: "Agentenwerk GmbH · Amtsgericht München HRB 000000 · Geschäftsführer: Jürgen Groß",
    terms: "Es gelten unsere allgemeinen Geschäftsbedingungen.",
    privacy: null,
    buyerReference: null,
  },
  tax: { category: "S", rate: "0.19" },
  ...priceItems(items, {
    currency: "eur",
    vatRate: "0.19",
    rateOf: (unit) => RATES[unit] ?? "0",
    nameOf,
  }),
  payments: listCoveredPayments(items),
  conversions: [
    { unit: "", amount: "97500000", rate: RATES[""] ?? "", source: "Kursarchiv", decimals: 6 },
    { unit: TOKEN, amount: "30000000", rate: RATES[TOKEN] ?? "", source: null },
  ],
  cancels: null,
};

const english: InvoiceContent = {
  ...german,
  language: "en-gb",
  format: "en-gb",
  buyer: {
    country: "Greece",
    city: "Αθήνα",
    zipCode: "105 57",
    street: "Οδός Ερμού",
    streetNumber: "5",
    email: "accounts@hellas.example",
    phone: null,
    name: "Київ Desk",
    companyName: "Ελλάδα Agents A.E.",
    vatNumber: "EL123456789",
  },
  seller: { ...german.seller, country: "Germany" },
  texts: {
    ...german.texts,
    description: "Translation and research by autonomous agents.",
    signature: "Kind regards, Agentenwerk GmbH",
    footer: null,
    terms: "Our general terms and conditions apply.",
    privacy: "We keep invoices for ten years, as the law asks.",
    buyerReference: "PO-2025-0077",
  },
  tax: { category: "AE", rate: "0" },
  ...priceItems(items, {
    currency: "eur",
    vatRate: "0",
    rateOf: (unit) => RATES[unit] ?? "0",
    nameOf,
  }),
  conversions: german.conversions.map((one) => ({ ...one, source: one.source && "Rate archive" })),
};

/** A paper that is kept as a picture, `docs/{name}.png`. */
export interface Sample {
  name: string;
  number: string;
  content: InvoiceContent;
}

export const SAMPLES: readonly Sample[] = [
  { name: "invoice-de", number: "2025-C7654E-0041", content: german },
  { name: "invoice-en", number: "2025-C7654E-0042", content: english },
  {
    name: "cancellation-en",
    number: "2025-C7654E-0043",
    content: toCancellation(english, "2025-C7654E-0042", "2025-10-09", ["buyer", "texts"]),
  },
];

/** The pages of a PDF as PNG, in shades of grey. */
export function pictures(pdf: Uint8Array, scale = SCALE): Uint8Array[] {
  const document = mupdf.Document.openDocument(pdf, "application/pdf");
  return Array.from({ length: document.countPages() }, (_, index) =>
    document
      .loadPage(index)
      .toPixmap(mupdf.Matrix.scale(scale, scale), mupdf.ColorSpace.DeviceGray, false)
      .asPNG(),
  );
}

/** The file that holds the picture of a sample. */
export function pictureFile({ name }: Sample): URL {
  return new URL(`${name}.png`, DOCS);
}

/** A sample's paper. */
export function sampleOf({ number, content }: Sample): Promise<Uint8Array> {
  return renderPdf(number, content, packagedFonts());
}

if (import.meta.main) {
  for (const sample of SAMPLES) {
    const [first] = pictures(await sampleOf(sample));
    if (first) writeFileSync(pictureFile(sample), first);
  }
}
