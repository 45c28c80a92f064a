import { deflateSync } from "node:zlib";
import * as mupdf from "mupdf";
import { beforeAll, describe, expect, it } from "vitest";
import { validateXML } from "xmllint-wasm";
import { packagedFonts, SAMPLES } from "../../../../devnet/demo/invoice-samples.ts";
import { buildSrgbProfile } from "../../../../src/invoices/pdf/mark-as-pdf-a.ts";
import { renderPdf } from "../../../../src/invoices/pdf/render-pdf.ts";

function open(pdf: Uint8Array): mupdf.PDFDocument {
  const document = mupdf.Document.openDocument(pdf, "application/pdf").asPDF();
  if (!document) throw new Error("this is no PDF");
  return document;
}

const nameOf = (object: mupdf.PDFObject): string => (object.isName() ? object.asName() : "");
const textOf = (object: mupdf.PDFObject): string => (object.isString() ? object.asString() : "");

function* dictionaries(document: mupdf.PDFDocument): Generator<mupdf.PDFObject> {
  for (let number = 1; number < document.countObjects(); number++) {
    const object = document.newIndirect(number).resolve();
    if (object.isDictionary()) yield object;
  }
}

/** What the metadata say, by the names of their elements. */
function metadataOf(document: mupdf.PDFDocument): { xmp: string; value(name: string): string } {
  const stream = document.getTrailer().get("Root", "Metadata");
  const xmp = stream.isStream() ? stream.readStream().asString() : "";
  return { xmp, value: (name) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xmp)?.[1] ?? "" };
}

/** Whether it holds of a document, by what PDF/A-3b or Factur-X asks. */
const ASKED: Record<string, (document: mupdf.PDFDocument) => boolean> = {
  "metadata that say PDF/A-3b": (document) => {
    const { value } = metadataOf(document);
    return value("pdfaid:part") === "3" && value("pdfaid:conformance") === "B";
  },
  "metadata that are not compressed": (document) =>
    document.getTrailer().get("Root", "Metadata", "Filter").isNull(),
  "metadata equal to the information dictionary": (document) => {
    const { xmp, value } = metadataOf(document);
    const info = document.getTrailer().get("Info");
    const time = value("xmp:CreateDate").replace(/\D/g, "");
    return (
      xmp.includes(`<rdf:li xml:lang="x-default">${textOf(info.get("Title"))}</rdf:li>`) &&
      xmp.includes(`<rdf:Seq><rdf:li>${textOf(info.get("Author"))}</rdf:li></rdf:Seq>`) &&
      value("pdf:Producer") === textOf(info.get("Producer")) &&
      textOf(info.get("CreationDate")) === `D:${time}Z` &&
      textOf(info.get("ModDate")) === `D:${value("xmp:ModifyDate").replace(/\D/g, "")}Z`
    );
  },
  "an identifier": (document) => document.getTrailer().get("ID").length === 2,
  "no encryption": (document) => document.getTrailer().get("Encrypt").isNull(),
  "an output intent with a profile of three colours": (document) => {
    const intent = document.getTrailer().get("Root", "OutputIntents", 0);
    const profile = intent.get("DestOutputProfile");
    return (
      nameOf(intent.get("S")) === "GTS_PDFA1" &&
      profile.isStream() &&
      profile.get("N").asNumber() === 3 &&
      profile.readStream().asUint8Array().length > 128
    );
  },
  "fonts that are embedded, and named as subsets": (document) => {
    const all = [...dictionaries(document)];
    const fonts = all.filter((one) => nameOf(one.get("Type")) === "Font");
    const faces = all.filter((one) => nameOf(one.get("Type")) === "FontDescriptor");
    return (
      faces.length > 0 &&
      faces.every(
        (one) => one.get("FontFile2").isStream() && /^[A-Z]{6}\+/.test(nameOf(one.get("FontName"))),
      ) &&
      fonts.every(
        (one) =>
          ["Type0", "CIDFontType2"].includes(nameOf(one.get("Subtype"))) &&
          (nameOf(one.get("Subtype")) === "Type0"
            ? one.get("ToUnicode").isStream()
            : nameOf(one.get("CIDToGIDMap")) === "Identity"),
      )
    );
  },
  "no scripts, forms, annotations or transparency": (document) =>
    ["AcroForm", "OpenAction", "AA"].every((key) =>
      document.getTrailer().get("Root", key).isNull(),
    ) &&
    Array.from({ length: document.countPages() }, (_, page) => document.findPage(page)).every(
      (page) => page.get("Annots").length === 0 && page.get("Group").isNull(),
    ),
  "the XML as an associated file, alternative to the pages": (document) => {
    const file = document.getTrailer().get("Root", "AF", 0);
    const stream = file.get("EF", "F");
    return (
      textOf(file.get("F")) === "factur-x.xml" &&
      textOf(file.get("UF")) === "factur-x.xml" &&
      nameOf(file.get("AFRelationship")) === "Alternative" &&
      nameOf(stream.get("Subtype")) === "text/xml" &&
      textOf(stream.get("Params", "ModDate")) !== ""
    );
  },
  "metadata that say which file the invoice is, and of which profile": (document) => {
    const { xmp, value } = metadataOf(document);
    const said = {
      DocumentFileName: "factur-x.xml",
      DocumentType: "INVOICE",
      Version: "1.0",
      ConformanceLevel: "EN 16931",
    };
    return Object.entries(said).every(
      ([name, is]) =>
        value(`fx:${name}`) === is &&
        xmp.includes(`<pdfaProperty:name>${name}</pdfaProperty:name>`),
    );
  },
};

function lacks(document: mupdf.PDFDocument): string[] {
  return Object.entries(ASKED)
    .filter(([, holds]) => !holds(document))
    .map(([what]) => what);
}

const papers = new Map<string, Uint8Array>();
beforeAll(async () => {
  for (const { name, number, content } of SAMPLES)
    papers.set(name, await renderPdf(number, content, packagedFonts()));
});
const paper = (name: string): Uint8Array => papers.get(name) ?? new Uint8Array();

describe("the PDF of an invoice, as an archive", () => {
  it.each(SAMPLES.map(({ name }) => name))("has what PDF/A-3b and Factur-X ask: %s", (name) => {
    expect(lacks(open(paper(name)))).toEqual([]);
  });

  it("has metadata that are XML", async () => {
    const { xmp } = metadataOf(open(paper("invoice-de")));
    const { valid } = await validateXML({
      xml: [{ fileName: "xmp.xml", contents: xmp }],
      normalization: "c14n",
    });
    expect(valid).toBe(true);
    const broken = xmp.replace("</rdf:RDF>", "");
    const judged = await validateXML({
      xml: [{ fileName: "xmp.xml", contents: broken }],
      normalization: "c14n",
    });
    expect(judged.valid).toBe(false);
  });

  const SPOILT: [what: string, spoil: (document: mupdf.PDFDocument) => void][] = [
    [
      "metadata that say PDF/A-3b",
      (document) => document.getTrailer().get("Root").delete("Metadata"),
    ],
    [
      "metadata that are not compressed",
      (document) => {
        const stream = document.getTrailer().get("Root", "Metadata");
        const packed = deflateSync(stream.readStream().asUint8Array());
        stream.put("Filter", document.newName("FlateDecode"));
        stream.writeRawStream(packed);
      },
    ],
    [
      "metadata equal to the information dictionary",
      (document) => document.getTrailer().get("Info").put("Title", document.newString("Other")),
    ],
    [
      "an output intent with a profile of three colours",
      (document) =>
        document.getTrailer().get("Root", "OutputIntents", 0).delete("DestOutputProfile"),
    ],
    [
      "fonts that are embedded, and named as subsets",
      (document) => {
        for (const one of dictionaries(document)) one.delete("FontFile2");
      },
    ],
    [
      "no scripts, forms, annotations or transparency",
      (document) => document.getTrailer().get("Root").put("OpenAction", document.newDictionary()),
    ],
    [
      "the XML as an associated file, alternative to the pages",
      (document) => document.getTrailer().get("Root", "AF", 0).delete("AFRelationship"),
    ],
    [
      "metadata that say which file the invoice is, and of which profile",
      (document) => {
        const stream = document.getTrailer().get("Root", "Metadata");
        stream.writeStream(stream.readStream().asString().replaceAll("EN 16931", "BASIC"));
      },
    ],
  ];

  it("has a spoilt twin for each of them", () => {
    const spoilt = [...SPOILT.map(([what]) => what), "an identifier", "no encryption"];
    expect(spoilt.sort()).toEqual(Object.keys(ASKED).sort());
  });

  it.each(SPOILT)("is judged by a check that finds what is missing: %s", (what, spoil) => {
    const document = open(paper("invoice-de"));
    spoil(document);
    expect(lacks(document)).toContain(what);
  });
});

it("an invoice without an identifier is found to lack it", () => {
  const text = Buffer.from(paper("invoice-de")).toString("latin1");
  const spoilt = Buffer.from(text.replace("/ID [", "/IX ["), "latin1");
  expect(lacks(open(spoilt))).toEqual(["an identifier"]);
});

it("an invoice that is encrypted is found to be so", () => {
  const encrypted = open(paper("invoice-de")).saveToBuffer("encrypt=aes-256,owner-password=x");
  const document = open(encrypted.asUint8Array());
  expect(document.authenticatePassword("x")).toBeGreaterThan(0);
  expect(lacks(document)).toContain("no encryption");
});

describe("the colour profile", () => {
  it("is one that a reader takes, and shows the colours of sRGB as they are", () => {
    const profile = new mupdf.ColorSpace(new mupdf.Buffer(buildSrgbProfile()), "profile");
    expect(profile.isRGB()).toBe(true);
    expect(profile.getNumberOfComponents()).toBe(3);
  });
});
