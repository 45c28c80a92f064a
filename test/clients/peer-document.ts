/** The peer's OpenAPI document (3.0), as JSON Schema. */
import { readFileSync } from "node:fs";
import Ajv2020, { type ValidateFunction } from "ajv/dist/2020.js";

interface Json {
  [member: string]: unknown;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Json;
}

interface Operation {
  parameters?: Parameter[];
  requestBody?: { content: { "application/json": { schema: Json } } };
  responses: Record<string, { content?: { "application/json": { schema: Json } } }>;
}

/** The document, and what it says of a request or an answer. */
export interface PeerDocument {
  /** Such as `GET /payment`, in the order of the document. */
  operations: string[];
  /** What is wrong with a request; empty: nothing. */
  requestProblems(operation: string, query: URLSearchParams, body: unknown): string[];
  /** What is wrong with an answer of status 200; empty: nothing. */
  answerProblems(operation: string, answer: unknown): string[];
}

const FORMATS = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
  email: /^\S+@\S+$/,
  // Ids of any form: the peer checks none.
  cuid: /^.+$/,
};

/** Reads the document of a copy. */
export function readPeerDocument(path: string): PeerDocument {
  const { paths, components } = JSON.parse(readFileSync(path, "utf8")) as {
    paths: Record<string, Record<string, Operation>>;
    components: Json;
  };
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: FORMATS, logger: false });
  ajv.addSchema({ components: toJsonSchema(components) } as object, "peer");
  const byName = new Map(
    Object.entries(paths).flatMap(([at, methods]) =>
      Object.entries(methods).map(([method, one]) => [`${method.toUpperCase()} ${at}`, one]),
    ),
  );
  const compiled = new Map<Json, ValidateFunction>();
  const problemsOf = (schema: Json | undefined, value: unknown): string[] => {
    if (!schema) return [];
    const text = () => JSON.stringify(toJsonSchema(schema)).replaceAll('"#/', '"peer#/');
    const validate = compiled.get(schema) ?? ajv.compile(JSON.parse(text()));
    compiled.set(schema, validate);
    validate(value);
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
  const operationOf = (name: string): Operation => {
    const found = byName.get(name);
    if (!found) throw new Error(`the peer's document has no ${name}`);
    return found;
  };
  return {
    operations: [...byName.keys()],
    requestProblems(name, query, body) {
      const { parameters = [], requestBody } = operationOf(name);
      const known = parameters.filter((one) => one.in === "query");
      const missing = known.filter((one) => one.required && !query.has(one.name));
      const unknown = [...query.keys()].filter((key) => !known.some((one) => one.name === key));
      return [
        ...missing.map((one) => `?${one.name} is missing`),
        ...unknown.map((key) => `?${key} is unknown`),
        ...problemsOf(requestBody?.content["application/json"].schema, body),
      ];
    },
    answerProblems(name, answer) {
      const { responses } = operationOf(name);
      return problemsOf(responses[200]?.content?.["application/json"].schema, answer);
    },
  };
}

/** OpenAPI 3.0 has `nullable`, and exclusive bounds as booleans. */
function toJsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toJsonSchema);
  if (schema === null || typeof schema !== "object") return schema;
  const { nullable, exclusiveMinimum, minimum, example: _, ...rest } = schema as Json;
  const converted: Json = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, toJsonSchema(value)]),
  );
  if (exclusiveMinimum === true) converted.exclusiveMinimum = minimum;
  else if (minimum !== undefined) converted.minimum = toJsonSchema(minimum);
  if (exclusiveMinimum !== undefined && exclusiveMinimum !== true && exclusiveMinimum !== false)
    converted.exclusiveMinimum = exclusiveMinimum;
  return nullable === true ? { anyOf: [converted, { type: "null" }] } : converted;
}
