/** The part of the OpenAPI document that types of clients follow from. */
import { createHash } from "node:crypto";

// biome-ignore lint/suspicious/noExplicitAny: a document is walked, not read
type Json = any;

/** Keywords under which the keys are names of the document's own, and no keywords. */
const MAPS = new Set(["paths", "webhooks", "schemas", "parameters", "properties", "responses"]);
/** What is for people; of it, the types keep the descriptions. */
const EXAMPLES = ["examples", "example"];
const WORDS = ["description", "summary", "title", "tags", "info", "servers", "security"];

/**
 * The document from which types are generated. It lacks examples, headers of answers and fields that
 * are always null, which openapi-fetch cannot type. All errors of an operation are one, since
 * `error.code` tells them apart. An error with a larger body stays separate.
 */
export function typedDocument(document: Json): Json {
  const typed = withoutNulls(without(document, EXAMPLES));
  const { schemas } = typed.components;
  delete typed.components.headers;
  const codes = new Set<string>();
  for (const operation of operationsOf(typed))
    operation.responses = Object.fromEntries(
      Object.entries<Json>(operation.responses).flatMap(([status, { headers: _, ...answer }]) => {
        if (Number(status) < 400) return [[status, answer]];
        const name = schemaOf(answer);
        const error = schemas[name];
        if (!isPlainError(error)) return [[name === "AdminError" ? "default" : status, answer]];
        for (const code of codesOf(error, schemas)) codes.add(code);
        return [["default", ANY_ERROR]];
      }),
    );
  for (const { post } of Object.values<Json>(typed.webhooks)) post.responses = { "2XX": RECEIVED };
  const [, first] = Object.entries<Json>(schemas).find(([, one]) => isPlainError(one)) ?? [];
  schemas.ApiError = structuredClone(first);
  schemas.ApiError.description = "An error.";
  schemas.ApiError.properties.error.properties.code = {
    description: first.properties.error.properties.code.description,
    type: "string",
    enum: [...codes].sort(),
  };
  typed.components.schemas = reachable(typed);
  return typed;
}

const ANY_ERROR = {
  description: "An error.",
  content: { "application/json": { schema: { $ref: "#/components/schemas/ApiError" } } },
};
const RECEIVED = { description: "The event was received." };

/** A hash of what the types say: another text for people leaves it as it is. */
export function shapeOf(document: Json): string {
  const shape = JSON.stringify(without(typedDocument(document), WORDS));
  return createHash("sha256").update(shape).digest("hex");
}

/**
 * The operations that may be sent again when their outcome is unknown, as `POST /api/v1/purchase`. They
 * are the operations with an Idempotency-Key, queries, which have a 304, and checks, which change nothing.
 */
export function repeatable(document: Json): string[] {
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).flatMap(
      ([method, { operationId, parameters = [], responses }]) => {
        const hasKey = parameters.some(({ $ref = "" }) => $ref.endsWith("/IdempotencyKey"));
        const isQuery = Object.hasOwn(responses, "304");
        const isCheck = operationId.startsWith("verify");
        return method === "post" && (hasKey || isQuery || isCheck) ? [`POST ${path}`] : [];
      },
    ),
  );
}

/** The properties whose value is one of some names, wherever in the document they are. */
export function fieldsWith(document: Json, names: ReadonlySet<string>): string[] {
  const { schemas } = document.components;
  const has = (schema: Json): boolean => {
    const { $ref, enum: values = [], const: only, anyOf = [], items } = schema;
    if ($ref) return has(schemas[$ref.split("/").at(-1)]);
    if ([...values, only].some((one) => names.has(one))) return true;
    return (items ? [...anyOf, items] : anyOf).some((one: Json) => !one.properties && has(one));
  };
  const found = new Set<string>();
  const walk = (value: Json): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, schema] of Object.entries(value.properties ?? {}))
      if (has(schema)) found.add(name);
    for (const part of Object.values(value)) walk(part);
  };
  walk(schemas);
  return [...found].sort();
}

function operationsOf(document: Json): Json[] {
  return Object.values<Json>(document.paths).flatMap((methods) => Object.values<Json>(methods));
}

function schemaOf(answer: Json): string {
  const reference = answer.content?.["application/json"]?.schema?.$ref ?? "";
  return reference.split("/").at(-1);
}

function isPlainError(schema: Json): boolean {
  const { status, error, ...others } = schema?.properties ?? {};
  return status?.const === "error" && error !== undefined && Object.keys(others).length === 0;
}

function codesOf(error: Json, schemas: Json): string[] {
  const code = error.properties.error.properties.code;
  const { enum: values, const: only } = schemas[code.$ref?.split("/").at(-1)] ?? code;
  return values ?? [only];
}

/** The components that operations and events refer to, and those that these refer to. */
function reachable({ paths, webhooks, components }: Json): Json {
  const found = new Set<string>();
  const follow = (value: Json): void => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/#\/components\/schemas\/([\w-]+)/g))
      if (!found.has(name)) {
        found.add(name);
        follow(components.schemas[name]);
      }
  };
  follow([paths, webhooks, components.parameters ?? {}]);
  return Object.fromEntries(Object.entries(components.schemas).filter(([name]) => found.has(name)));
}

/** A copy without the properties that are always null. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const { properties = {}, required } = value;
  const nulls = Object.keys(properties).filter((name) => properties[name].type === "null");
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, withoutNulls(part)]),
  );
  for (const name of nulls) delete copy.properties[name];
  if (nulls.length > 0 && required)
    copy.required = required.filter((name: string) => !nulls.includes(name));
  return copy;
}

/** A copy without some keywords. */
function without(value: Json, keywords: readonly string[], isMap = false): Json {
  if (Array.isArray(value)) return value.map((one) => without(one, keywords));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => isMap || !keywords.includes(key))
      .map(([key, part]) => [key, without(part, keywords, !isMap && MAPS.has(key))]),
  );
}
