import { readFileSync } from "node:fs";
import { validateXML } from "xmllint-wasm";

const SCHEMA = "Factur-X_1.07.3_EN16931";

/** The schema's files, each by the name that the others import it by. */
function schemaFile(part: string) {
  const fileName = `${SCHEMA}${part}.xsd`;
  const url = new URL(`../../../invoices/schema/${fileName}`, import.meta.url);
  return { fileName, contents: readFileSync(url, "utf8") };
}
const PARTS = [
  "QualifiedDataType",
  "ReusableAggregateBusinessInformationEntity",
  "UnqualifiedDataType",
];

/** What an XML breaks of the schema of Factur-X. */
export async function schemaErrors(xml: string): Promise<readonly string[]> {
  const { errors } = await validateXML({
    xml: [{ fileName: "invoice.xml", contents: xml }],
    schema: [schemaFile("")],
    preload: PARTS.map((part) => schemaFile(`_urn_un_unece_uncefact_data_standard_${part}_100`)),
  });
  return errors.map(({ message }) => message);
}
