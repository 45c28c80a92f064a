import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { MAX_BODY_BYTES } from "../../../src/http/body.ts";
import { app, emptyTables } from "../../support/app.ts";
import { sampled } from "../../support/effort.ts";
import { type JsonSchema, openApi } from "../../support/endpoints/document.ts";

/** Objects of other protocols, which the service passes on: only the body bounds them. */
const OPAQUE = /\.(extra|payload|extensions|resource)(\.\*)?$/;
/** Narrows a string that is bounded beside it. */
const NOT_BLANK = "\\S";
/** Formats whose values have a length of their own. */
const SHORT_FORMATS = ["date", "date-time"];
/** A regular expression that no long text matches: anchored, and without an open repetition. */
const isBoundedPattern = (pattern: unknown) =>
  typeof pattern === "string" &&
  pattern.startsWith("^") &&
  pattern.endsWith("$") &&
  !/[*+]|\{\d+,\}/.test(pattern.replace(/\(\?[=!][^)]*\)|\[[^\]]*\]|\\./g, ""));

/** The parts of a schema, with their paths, behind references and unions too. */
function* partsOf(schema: JsonSchema, path: string): Generator<[string, JsonSchema]> {
  const { $ref, properties = {}, items, additionalProperties: other } = schema;
  if (typeof $ref === "string") {
    const name = $ref.replace("#/components/schemas/", "");
    yield* partsOf(openApi.components.schemas[name] ?? {}, path);
    return;
  }
  // What all of several schemas say holds for one value.
  const all = (schema.allOf ?? []) as JsonSchema[];
  if (all.length > 0) {
    yield* partsOf(Object.assign({}, ...all, { ...schema, allOf: [] }), path);
    return;
  }
  yield [path, schema];
  for (const one of [schema.anyOf, schema.oneOf].flat())
    if (one) yield* partsOf(one as JsonSchema, path);
  for (const [name, part] of Object.entries(properties as Record<string, JsonSchema>))
    yield* partsOf(part, `${path}.${name}`);
  if (items) yield* partsOf(items as JsonSchema, `${path}[]`);
  if (typeof other === "object") yield* partsOf(other as JsonSchema, `${path}.*`);
}

function isBounded(schema: JsonSchema): boolean {
  const types = [schema.type].flat();
  const isFixed = schema.enum !== undefined || schema.const !== undefined;
  if (types.includes("array")) return schema.maxItems !== undefined;
  if (!types.includes("string") || isFixed) return true;
  return (
    schema.pattern === NOT_BLANK ||
    schema.maxLength !== undefined ||
    SHORT_FORMATS.includes(String(schema.format)) ||
    isBoundedPattern(schema.pattern)
  );
}

const OPERATIONS = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    title: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    body: operation.requestBody?.content["application/json"].schema,
    parameters: (operation.parameters ?? []).filter(({ schema }) => schema),
  })),
);

it.each(OPERATIONS)("$title bounds every string and every list that it takes", (operation) => {
  const { body, parameters } = operation;
  const schemas: [string, JsonSchema][] = [
    ...(body ? [["body", body] as [string, JsonSchema]] : []),
    ...parameters.map(({ name, schema }) => [name, schema] as [string, JsonSchema]),
  ];
  const unbounded = schemas
    .flatMap(([name, schema]) => [...partsOf(schema, name)])
    .filter(([path, schema]) => !isBounded(schema) && !OPAQUE.test(path))
    .map(([path]) => path);
  expect(unbounded).toEqual([]);
});

/** Bytes of an answer, its headers included, to a body that is wrong. */
const MAX_ANSWER_BYTES = 16 * 1024;

/** Bodies of nearly the largest size, by what they consist of. */
const LARGE_BODIES: [string, (names: string[]) => unknown][] = [
  ["lists of objects", (names) => fill(names, (bytes) => Array(Math.floor(bytes / 3)).fill({}))],
  [
    "strings and unknown fields",
    (names) => ({ ...fill(names, (bytes) => "<".repeat(bytes / 2)), ...UNKNOWN_FIELDS }),
  ],
];

const UNKNOWN_FIELDS = Object.fromEntries(
  Array.from({ length: 30_000 }, (_, i) => [`unknown${i}`, 0]),
);

function fill(names: string[], make: (bytes: number) => unknown): object {
  const bytes = Math.floor((MAX_BODY_BYTES - 8_192) / names.length);
  return Object.fromEntries(names.map((name) => [name, make(bytes)]));
}

describe.each(LARGE_BODIES)("a body of 1 MiB of %s", (_, make) => {
  beforeAll(emptyTables);

  it.each(
    sampled(
      6,
      OPERATIONS.filter(({ body }) => body),
    ),
  )("gets a short answer of $title", async (one) => {
    const names = [...partsOf(one.body ?? {}, "")]
      .map(([path]) => /^\.(\w+)$/.exec(path)?.[1])
      .filter((name) => name !== undefined);
    const body = JSON.stringify(make([...new Set(names)]));
    expect(body.length).toBeLessThanOrEqual(MAX_BODY_BYTES);
    expect(body.length).toBeGreaterThan(0.8 * MAX_BODY_BYTES);
    const key = env.ADMIN_KEY ?? "";
    const headers = one.path.startsWith("/v1/")
      ? { authorization: `Bearer ${key}` }
      : { token: key };
    const answer = await app.request(one.path, { method: one.method, headers, body }, env);
    const answered = `${JSON.stringify([...answer.headers])}${await answer.text()}`;
    expect(answered.length).toBeLessThanOrEqual(MAX_ANSWER_BYTES);
    expect(answer.status).toBeLessThan(500);
  });
});
