/** The paper: an invoice or a cancellation as PDF. Equal content gives equal bytes. */
import { createHash } from "node:crypto";
import { invoiceXml } from "./cii.ts";
import type { InvoiceContent } from "./content.ts";
import type { FontFiles } from "./fonts.ts";
import { formatsOf } from "./formats.ts";
import { CURRENCIES } from "./money.ts";
import { nameOf } from "./party.ts";
import { type Paper, setPaper, titleOf } from "./sections.ts";
import { vocabulary } from "./texts.ts";
import { Typesetter } from "./typesetter.ts";

/**
 * Sets an invoice or a cancellation on A4 pages. Where `invoiceXml` gives one, the EN 16931 invoice
 * is attached as `factur-x.xml`.
 *
 * @param number - of this paper
 */
export async function renderPdf(
  number: string,
  content: InvoiceContent,
  fonts: FontFiles,
): Promise<Uint8Array> {
  const { AFRelationship, PDFDocument, PDFHexString } = await import("pdf-lib");
  const document = await PDFDocument.create({ updateMetadata: false });
  const words = vocabulary(content.language);
  const formats = formatsOf(
    content.format,
    content.language,
    content.currency,
    CURRENCIES[content.currency],
  );
  const isCancellation = content.cancels !== null;
  const amount = (decimal: string) =>
    formats.money(isCancellation && /[1-9]/.test(decimal) ? `-${decimal}` : decimal);
  const page = await Typesetter.begin(document, fonts);
  const paper: Paper = { page, number, content, words, formats, amount };

  setPaper(paper);

  const at = new Date(`${content.issueDate}T00:00:00Z`);
  document.setTitle(`${titleOf(paper)} ${number}`);
  document.setAuthor(nameOf(content.seller));
  document.setLanguage(content.language === "de" ? "de" : "en");
  document.setProducer("pdf-lib");
  document.setCreationDate(at);
  document.setModificationDate(at);
  const xml = invoiceXml(number, content);
  if (xml !== null)
    await document.attach(new TextEncoder().encode(xml), "factur-x.xml", {
      mimeType: "text/xml",
      description: "EN 16931 invoice",
      afRelationship: AFRelationship.Alternative,
      creationDate: at,
      modificationDate: at,
    });
  const id = PDFHexString.of(
    createHash("md5")
      .update(`${number} ${JSON.stringify(content)}`)
      .digest("hex"),
  );
  document.context.trailerInfo.ID = document.context.obj([id, id]);
  return document.save();
}
