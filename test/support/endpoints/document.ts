import { env } from "cloudflare:workers";
import Ajv2020 from "ajv/dist/2020.js";
import { app } from "../app.ts";

/** A parameter of an operation, or a reference to one. */
interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  schema: JsonSchema;
}

/** What is read of the OpenAPI document. */
export interface Operation {
  operationId: string;
  /** The access and the scope, as roles of the scheme. */
  "x-scope": string;
  parameters?: Parameter[];
  requestBody?: { content: { "application/json": { schema: JsonSchema } } };
  responses: Record<string, { content?: { "application/json": { schema: JsonSchema } } }>;
}

/** What is read of a JSON Schema. */
export interface JsonSchema {
  [keyword: string]: unknown;
}

export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema>; parameters: Record<string, Parameter> };
}

const answer = await app.request("/api/v1/openapi.json", {}, env);
/** The OpenAPI document of the service. */
export const openApi = (await answer.json()) as Document;

/** Formats that the document names; those without a grammar of their own only explain. */
const FORMATS = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-\d\d-\d\d$/,
};

function schemasOf(document: Document): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: FORMATS, logger: false });
  return ajv.addSchema(document, "openapi");
}

const ajv = schemasOf(openApi);

/** Whether a schema of the document, or one made of its parts, allows a value. */
export function validatorOf(schema: JsonSchema): (value: unknown) => boolean {
  const text = JSON.stringify(schema).replaceAll('"#/', '"openapi#/');
  const validate = ajv.compile(JSON.parse(text));
  return (value) => validate(value) === true;
}

/** Says what is wrong with a body by a document; nothing when nothing is, or there is no body. */
export function checkerOf(document: Document, ajv = schemasOf(document)) {
  return (method: string, path: string, status: number, body: unknown): string[] => {
    const at = (part: string) => part.replaceAll("~", "~0").replaceAll("/", "~1");
    const operation = document.paths[path]?.[method.toLowerCase()];
    if (!operation?.responses[status]) return [`${method} ${path} has no answer ${status}`];
    const pointer = `#/paths/${at(path)}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`;
    const validate = ajv.getSchema(`openapi${pointer}`);
    if (!validate) return [`${method} ${path} has no schema of ${status}`];
    validate(body);
    return (validate.errors ?? []).map(
      ({ instancePath, message }) => `${instancePath}: ${message}`,
    );
  };
}

/** What is wrong with a body by the document of the service. */
export const problemsOf = checkerOf(openApi, ajv);
