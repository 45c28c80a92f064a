import { EXTERNAL_FIELD_NAMES, EXTERNAL_VALUE_NAMES } from "../../src/http/names/wire-names.ts";
import { fieldsWith, repeatable, shapeOf } from "./typed-document.ts";

/** What the client has to know of the wire at run time, by the names of its constants. */
export function wireValues(document: Parameters<typeof shapeOf>[0]) {
  return {
    SHAPE: shapeOf(document),
    FIELDS: swapped(EXTERNAL_FIELD_NAMES),
    VALUES: swapped(EXTERNAL_VALUE_NAMES),
    VALUE_FIELDS: fieldsWith(document, new Set(Object.keys(EXTERNAL_VALUE_NAMES))),
    REPEATABLE: repeatable(document),
  };
}

const WHAT: Record<keyof ReturnType<typeof wireValues>, string> = {
  SHAPE: "Hash of the document that the types follow from.",
  FIELDS: "Fields in the other spelling, and their names here.",
  VALUES: "Values in the other spelling, and their names here.",
  VALUE_FIELDS: "The fields that have such values.",
  REPEATABLE: "Operations by POST that may be sent again when their outcome is not known.",
};

/** `client/generated/wire.ts`. */
export function wireModule(values: ReturnType<typeof wireValues>): string {
  const constants = Object.entries(values).map(
    ([name, value]) =>
      `/** ${WHAT[name as keyof typeof values]} */\nexport const ${name} = ${JSON.stringify(value, null, 2)} as const;\n`,
  );
  return ["/** `npm run generate:client` writes this file. */\n", ...constants].join("\n");
}

function swapped(names: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(names).map(([own, other]) => [other, own]));
}
