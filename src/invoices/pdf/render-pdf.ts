/** An invoice or a cancellation as PDF. Equal content gives equal bytes. */
import { createHash } from "node:crypto";
import { loadPdfLib } from "../../packages.ts";
import { MINOR_UNIT_DIGITS } from "../model/currencies.ts";
import { negateDecimal } from "../model/fractions.ts";
import { findPartyName, type InvoiceContent } from "../model/invoice-content.ts";
import type { FontFiles } from "./fonts.ts";
import { createFormats } from "./formats.ts";
import { buildInvoiceXml } from "./invoice-xml.ts";
import { markAsPdfA, XML_FILE_NAME } from "./mark-as-pdf-a.ts";
import type { RenderContext } from "./render-context.ts";
import { drawDocument, findTitle } from "./sections.ts";
import { Typesetter } from "./typesetter.ts";
import { selectVocabulary } from "./vocabulary.ts";

/** Most rows of tables that are tagged: each cell is an object, and a document must fit in a row. */
const MAX_TAGGED_ROWS = 1_000;

/**
 * Typesets an invoice or a cancellation on A4 pages. If `buildInvoiceXml` returns one, the EN 16931
 * invoice is attached as `factur-x.xml`. The document is made as PDF/A-3b asks.
 *
 * @param number - of this paper
 */
export async function renderPdf(
  number: string,
  content: InvoiceContent,
  fonts: FontFiles,
): Promise<Uint8Array> {
  const { AFRelationship, PDFDocument, PDFHexString } = await loadPdfLib();
  const document = await PDFDocument.create({ updateMetadata: false });
  const words = selectVocabulary(content.language);
  const formats = createFormats(
    content.format,
    content.language,
    content.currency,
    MINOR_UNIT_DIGITS[content.currency],
  );
  const formatAmount = (decimal: string) =>
    formats.money(content.cancels === null ? decimal : negateDecimal(decimal));
  const rows = content.lines.length + (content.payments?.length ?? 0);
  const page = await Typesetter.begin(document, fonts, rows <= MAX_TAGGED_ROWS);
  const paper: RenderContext = {
    page,
    number,
    content,
    vocabulary: words,
    formats,
    amount: formatAmount,
  };

  drawDocument(paper);
  page.writeTags();

  const at = new Date(`${content.issueDate}T00:00:00Z`);
  const metadata = {
    title: `${findTitle(paper)} ${number}`,
    author: findPartyName(content.seller),
    language: content.language === "de" ? "de" : "en",
    producer: "pdf-lib",
    createdAt: at,
  };
  document.setTitle(metadata.title);
  document.setAuthor(metadata.author);
  document.setLanguage(metadata.language);
  document.setProducer(metadata.producer);
  document.setCreationDate(at);
  document.setModificationDate(at);
  const xml = buildInvoiceXml(number, content);
  if (xml !== null)
    await document.attach(new TextEncoder().encode(xml), XML_FILE_NAME, {
      mimeType: "text/xml",
      description: "EN 16931 invoice",
      afRelationship: AFRelationship.Alternative,
      creationDate: at,
      modificationDate: at,
    });
  await markAsPdfA(document, { ...metadata, hasXml: xml !== null });
  const id = PDFHexString.of(
    createHash("md5")
      .update(`${number} ${JSON.stringify(content)}`)
      .digest("hex"),
  );
  document.context.trailerInfo.ID = document.context.obj([id, id]);
  return document.save();
}
