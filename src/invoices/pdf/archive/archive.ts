/**
 * What PDF/A-3b (ISO 19005-3) requires besides embedded fonts and an identifier: metadata that declare
 * the format, and the color space. Factur-X 1.07 and ZUGFeRD 2.3 also require an extension schema, and
 * the name of the embedded invoice. docs/invoices.md lists what is checked.
 */
import type { PDFDocument } from "pdf-lib";
import { loadPdfLib } from "../../../packages.ts";
import { escapeXml } from "../xml-text.ts";
import { srgbProfile } from "./srgb.ts";

/** The name of the attached invoice, by Factur-X. */
export const XML_FILE = "factur-x.xml";

/** What the metadata say; the same as the document's information dictionary. */
export interface ArchiveMetadata {
  title: string;
  author: string;
  /** BCP 47. */
  language: string;
  producer: string;
  /** Of creation, and of the last change. */
  at: Date;
  /** Whether `XML_FILE` is attached. */
  hasXml: boolean;
}

/** Marks a document as PDF/A-3b, and as a Factur-X invoice if one is attached. */
export async function markArchive(document: PDFDocument, metadata: ArchiveMetadata): Promise<void> {
  const { PDFName, PDFString } = await loadPdfLib();
  const { context, catalog } = document;
  const xmp = context.stream(new TextEncoder().encode(xmpOf(metadata)), {
    Type: "Metadata",
    Subtype: "XML",
  });
  catalog.set(PDFName.of("Metadata"), context.register(xmp));
  const profile = context.register(context.flateStream(srgbProfile(), { N: 3 }));
  const intent = context.obj({
    Type: "OutputIntent",
    S: "GTS_PDFA1",
    OutputConditionIdentifier: PDFString.of("sRGB IEC61966-2.1"),
    RegistryName: PDFString.of("http://www.color.org"),
    Info: PDFString.of("sRGB IEC61966-2.1"),
    DestOutputProfile: profile,
  });
  catalog.set(PDFName.of("OutputIntents"), context.obj([intent]));
}

const FACTUR_X = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#";

/** The metadata as XMP (ISO 16684-1). */
function xmpOf({ title, author, language, producer, at, hasXml }: ArchiveMetadata): string {
  const time = at.toISOString().replace(/\.\d+/, "");
  return `<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/">
<pdfaid:part>3</pdfaid:part>
<pdfaid:conformance>B</pdfaid:conformance>
</rdf:Description>
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:format>application/pdf</dc:format>
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">${escapeXml(title)}</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>${escapeXml(author)}</rdf:li></rdf:Seq></dc:creator>
<dc:language><rdf:Bag><rdf:li>${language}</rdf:li></rdf:Bag></dc:language>
</rdf:Description>
<rdf:Description rdf:about="" xmlns:pdf="http://ns.adobe.com/pdf/1.3/">
<pdf:Producer>${escapeXml(producer)}</pdf:Producer>
</rdf:Description>
<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/">
<xmp:CreateDate>${time}</xmp:CreateDate>
<xmp:ModifyDate>${time}</xmp:ModifyDate>
</rdf:Description>
${hasXml ? facturX() : ""}</rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>`;
}

/** Which file the invoice is, and the description of these properties that PDF/A wants. */
function facturX(): string {
  const properties = [
    ["DocumentFileName", "Name of the embedded XML invoice", XML_FILE],
    ["DocumentType", "INVOICE", "INVOICE"],
    ["Version", "Version of the XML schema", "1.0"],
    ["ConformanceLevel", "Profile of the XML invoice", "EN 16931"],
  ] as const;
  const described = properties.map(
    ([name, description]) =>
      `<rdf:li rdf:parseType="Resource"><pdfaProperty:name>${name}</pdfaProperty:name><pdfaProperty:valueType>Text</pdfaProperty:valueType><pdfaProperty:category>external</pdfaProperty:category><pdfaProperty:description>${description}</pdfaProperty:description></rdf:li>`,
  );
  const values = properties.map(([name, , value]) => `<fx:${name}>${value}</fx:${name}>`);
  return `<rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/" xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#" xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>
<pdfaSchema:namespaceURI>${FACTUR_X}</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>fx</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq>
${described.join("\n")}
</rdf:Seq></pdfaSchema:property>
</rdf:li></rdf:Bag></pdfaExtension:schemas>
</rdf:Description>
<rdf:Description rdf:about="" xmlns:fx="${FACTUR_X}">
${values.join("\n")}
</rdf:Description>
`;
}
