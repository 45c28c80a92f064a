/**
 * What PDF/A-3b (ISO 19005-3) requires besides embedded fonts and an identifier: metadata that declare
 * the format, and the color space. Factur-X 1.07 and ZUGFeRD 2.3 also require an extension schema, and
 * the name of the embedded invoice. docs/invoices.md lists what is checked.
 */
import type { PDFDocument } from "pdf-lib";
import { loadPdfLib } from "../../packages.ts";
import { escapeXml } from "./invoice-xml.ts";

/** The name of the attached invoice, by Factur-X. */
export const XML_FILE_NAME = "factur-x.xml";

/** What the metadata say; the same as the document's information dictionary. */
interface PdfMetadata {
  title: string;
  author: string;
  /** BCP 47. */
  language: string;
  producer: string;
  /** Of creation, and of the last change. */
  createdAt: Date;
  /** Whether `XML_FILE_NAME` is attached. */
  hasXml: boolean;
}

/** Marks a document as PDF/A-3b, and as a Factur-X invoice if one is attached. */
export async function markAsPdfA(document: PDFDocument, metadata: PdfMetadata): Promise<void> {
  const { PDFName, PDFString } = await loadPdfLib();
  const { context, catalog } = document;
  const xmp = context.stream(new TextEncoder().encode(buildXmp(metadata)), {
    Type: "Metadata",
    Subtype: "XML",
  });
  catalog.set(PDFName.of("Metadata"), context.register(xmp));
  const profile = context.register(context.flateStream(buildSrgbProfile(), { N: 3 }));
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

const FACTUR_X_NAMESPACE = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#";

/** The metadata as XMP (ISO 16684-1). */
function buildXmp({
  title,
  author,
  language,
  producer,
  createdAt: at,
  hasXml,
}: PdfMetadata): string {
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
${hasXml ? buildFacturXMetadata() : ""}</rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>`;
}

/** Which file the invoice is, and the description of these properties that PDF/A wants. */
function buildFacturXMetadata(): string {
  const properties = [
    ["DocumentFileName", "Name of the embedded XML invoice", XML_FILE_NAME],
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
<pdfaSchema:namespaceURI>${FACTUR_X_NAMESPACE}</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>fx</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq>
${described.join("\n")}
</rdf:Seq></pdfaSchema:property>
</rdf:li></rdf:Bag></pdfaExtension:schemas>
</rdf:Description>
<rdf:Description rdf:about="" xmlns:fx="${FACTUR_X_NAMESPACE}">
${values.join("\n")}
</rdf:Description>
`;
}

/** The color space sRGB (IEC 61966-2-1) as an ICC profile of version 2.1: matrix and curve. */

/** XYZ of the illuminant D50, and of the primaries adapted to it. */
const D50_WHITE_POINT = [0.9642, 1, 0.8249];
const SRGB_PRIMARIES = {
  rXYZ: [0.4361, 0.2225, 0.0139],
  gXYZ: [0.3851, 0.7169, 0.0971],
  bXYZ: [0.1431, 0.0606, 0.7141],
};
const CURVE_POINTS = 256;

/** The bytes of the profile. */
export function buildSrgbProfile(): Uint8Array {
  const curve = encodeCurve(Array.from({ length: CURVE_POINTS }, (_, i) => i / (CURVE_POINTS - 1)));
  const tags: [name: string, data: Buffer][] = [
    ["desc", encodeDescription("sRGB IEC61966-2.1")],
    ["cprt", Buffer.concat([Buffer.from("text\0\0\0\0"), Buffer.from("No copyright\0")])],
    ["wtpt", encodeXyz(D50_WHITE_POINT)],
    ...Object.entries(SRGB_PRIMARIES).map(([name, values]): [string, Buffer] => [
      name,
      encodeXyz(values),
    ]),
    ["rTRC", curve],
    ["gTRC", curve],
    ["bTRC", curve],
  ];
  const start = 128 + 4 + 12 * tags.length;
  const table = [encodeUint32(tags.length)];
  const data: Buffer[] = [];
  const offsets = new Map<Buffer, number>();
  let end = start;
  for (const [name, tag] of tags) {
    let offset = offsets.get(tag);
    if (offset === undefined) {
      offset = end;
      offsets.set(tag, offset);
      const padded = Buffer.concat([tag, Buffer.alloc((4 - (tag.length % 4)) % 4)]);
      data.push(padded);
      end += padded.length;
    }
    table.push(Buffer.from(name), encodeUint32(offset), encodeUint32(tag.length));
  }
  return new Uint8Array(Buffer.concat([buildProfileHeader(end), ...table, ...data]));
}

function buildProfileHeader(size: number): Buffer {
  const bytes = Buffer.alloc(128);
  bytes.writeUInt32BE(size, 0);
  bytes.writeUInt32BE(0x02100000, 8);
  bytes.write("mntrRGB XYZ ", 12);
  // Its date is of no meaning; a month and a day must not be zero.
  for (const [index, part] of [2025, 1, 1].entries()) bytes.writeUInt16BE(part, 24 + 2 * index);
  bytes.write("acsp", 36);
  for (const [index, value] of D50_WHITE_POINT.entries())
    bytes.writeInt32BE(toFixed16(value), 68 + 4 * index);
  return bytes;
}

function encodeDescription(text: string): Buffer {
  const ascii = Buffer.from(`${text}\0`);
  // After the text come an empty Unicode one and an empty one for Macintosh, of 67 bytes.
  const others = Buffer.alloc(4 + 4 + 2 + 1 + 67);
  return Buffer.concat([Buffer.from("desc\0\0\0\0"), encodeUint32(ascii.length), ascii, others]);
}

function encodeXyz(values: readonly number[]): Buffer {
  return Buffer.concat([
    Buffer.from("XYZ \0\0\0\0"),
    ...values.map((value) => encodeUint32(toFixed16(value))),
  ]);
}

/** The light that values from 0 to 1 stand for, as sRGB defines it. */
function encodeCurve(values: readonly number[]): Buffer {
  const points = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) {
    const light = value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    points.writeUInt16BE(Math.round(light * 0xffff), 2 * index);
  }
  return Buffer.concat([Buffer.from("curv\0\0\0\0"), encodeUint32(values.length), points]);
}

/** s15Fixed16Number. */
function toFixed16(value: number): number {
  return Math.round(value * 0x10000);
}

function encodeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
