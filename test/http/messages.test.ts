import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { app, emptyTables } from "../support/app.ts";
import { sampled } from "../support/effort.ts";
import { ENDPOINTS } from "../support/endpoints/all.ts";
import { insertKey } from "../support/keys.ts";

/** What is read of a JSON Schema in the OpenAPI document. */
interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
}

interface Operation {
  parameters?: { name: string; in: string; schema?: Schema }[];
  requestBody?: { content: { "application/json": { schema: Schema } } };
}

const answer = await app.request("/api/v1/openapi.json", {}, env);
const { paths, components } = (await answer.json()) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};
const OPERATIONS = Object.entries(paths).flatMap(([path, byMethod]) =>
  Object.entries(byMethod).map(([method, operation]) => ({
    title: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    operation,
  })),
);

beforeAll(emptyTables);

/** Sends a request as an administrator, and gives the message of a 400 (422 under /v1). */
async function messageOf(path: string, init: RequestInit = {}): Promise<string | null> {
  const token = env.ADMIN_KEY ?? "";
  const headers = { token, authorization: `Bearer ${token}` };
  const answer = await app.request(path, { ...init, headers }, env);
  if (answer.status !== 400 && answer.status !== 422) return null;
  const body = (await answer.json()) as { error?: { message: string }; message?: string };
  return (path.startsWith("/v1/") ? body.message : body.error?.message) ?? null;
}

/** The fields that a message names; fails unless it has one sentence for each, and at most five. */
function fieldsOf(message: string): string[] {
  const sentences = message.split("; ").filter((one) => !/^and \d+ more$/.test(one));
  for (const sentence of sentences) expect(sentence).toMatch(/^\w[\w.[\]-]*: [a-z][^;]*[^;.]$/i);
  expect(message).not.toMatch(/wrong form|is not valid|undefined|pattern|must match|\\|\^\D|\(\?/);
  const fields = sentences.map((one) => one.slice(0, one.indexOf(": ")));
  expect(fields).toEqual([...new Set(fields)]);
  expect(fields.length).toBeLessThanOrEqual(5);
  return fields;
}

/** A schema with what it refers to put in place, as all its alternatives. */
function alternatives(schema: Schema): Schema[] {
  const [, name] = /^#\/components\/schemas\/(.*)$/.exec(schema.$ref ?? "") ?? [];
  if (name !== undefined) return alternatives(components.schemas[name] ?? {});
  const parts = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  return parts ? parts.flatMap(alternatives) : [schema];
}

interface BodyField {
  /** As a message writes it. */
  name: string;
  types: string[];
  /** A body in which nothing but a value for this field stands, laid over `base`. */
  put: (base: Record<string, unknown>, value: unknown) => Record<string, unknown>;
}

/** Every field that a body's schema declares, at every depth, of a list's first item. */
function bodyFields(schema: Schema): BodyField[] {
  const members = alternatives(schema).flatMap(({ properties }) =>
    Object.entries(properties ?? {}),
  );
  return members.flatMap(([name, of]): BodyField[] => {
    const field: BodyField = {
      name,
      // Of all forms that the body may have.
      types: members
        .filter(([other]) => other === name)
        .flatMap(([, schema]) => alternatives(schema).flatMap(({ type }) => type ?? [])),
      put: (base, value) => ({ ...base, [name]: value }),
    };
    const items = alternatives(of).flatMap(({ items }) => items ?? []);
    return [
      field,
      ...bodyFields(of).map((inner) => ({
        ...inner,
        name: `${name}.${inner.name}`,
        put: (base: Record<string, unknown>, value: unknown) =>
          field.put(base, inner.put((base[name] ?? {}) as Record<string, unknown>, value)),
      })),
      ...items.flatMap((item): BodyField[] => [
        {
          name: `${name}[0]`,
          types: alternatives(item).flatMap(({ type }) => type ?? []),
          put: (base, value) => field.put(base, [value]),
        },
        ...bodyFields(item).map((inner) => ({
          ...inner,
          name: `${name}[0].${inner.name}`,
          put: (base: Record<string, unknown>, value: unknown) =>
            field.put(base, [inner.put({}, value)]),
        })),
      ]),
    ];
  });
}

/** Values of every type; the texts and the list are long enough to be out of any bound as well. */
const VALUES: [type: string, value: unknown][] = [
  ["string", `"${"x".repeat(9000)}"`],
  ["string", ""],
  ["number", 1.5],
  ["boolean", true],
  ["array", Array(200).fill(1)],
  ["object", {}],
];

const isOfType = (types: string[], type: string) =>
  types.length === 0 ||
  types.includes(type) ||
  (type === "number" && types.includes("integer")) ||
  (type === "object" && types.includes("record"));

const schemaOf = ({ requestBody }: Operation) => requestBody?.content["application/json"].schema;
const queryOf = ({ parameters = [] }: Operation) => parameters.filter((one) => one.in === "query");
/** A well-formed request; nothing of it is known under /v1. */
const validOf = (title: string): Record<string, unknown> =>
  ENDPOINTS.find((one) => `${one.method} /api/v1${one.path}` === title)?.valid ?? {};

describe("a body's message names the field, what is wrong and what is right, once for each", () => {
  const withBody = OPERATIONS.filter(({ operation }) => schemaOf(operation) !== undefined);

  it.each(sampled(4, withBody))("$title", async ({ title, method, path, operation }) => {
    const valid = validOf(title);
    for (const { name, types, put } of bodyFields(schemaOf(operation) ?? {})) {
      for (const [type, value] of VALUES) {
        const body = JSON.stringify(put(valid, value));
        const message = await messageOf(path, { method, body });
        const what = `${name} as ${JSON.stringify(value).slice(0, 20)}: ${message}`;
        // The facilitator's bodies are another protocol's, which answers 200 with a reason.
        if (message === null && path.includes("/facilitator/")) continue;
        // Which fields an object of a union has is only known with its discriminator.
        if (/\.(chain|pricingType): is required$/.test(message ?? "")) continue;
        if (message === null) expect(isOfType(types, type), what).toBe(true);
        else if (!isOfType(types, type) && !/; and \d+ more$/.test(message))
          expect(fieldsOf(message), what).toContain(name);
        else fieldsOf(message);
      }
    }
  });
});

describe("a query's message reports a parameter that is sent twice", () => {
  const withQuery = OPERATIONS.filter(({ operation }) => queryOf(operation).length > 0);

  it.each(sampled(4, withQuery))("$title", async ({ title, path, operation }) => {
    const valid = Object.entries(validOf(title)).map(([name, value]) => [name, String(value)]);
    for (const { name } of queryOf(operation)) {
      const others = valid.filter(([other]) => other !== name);
      const asked = (...values: string[]) =>
        `${path}?${new URLSearchParams([...others, ...values.map((value) => [name, value])])}`;
      expect(await messageOf(asked("a", "b"))).toContain(`${name}: must be sent only once`);
      const message = await messageOf(asked("\u0001"));
      if (message !== null) fieldsOf(message);
    }
  });
});

describe("a point in time is a bare date or has a zone, in the query of", () => {
  const isTime = ({ schema }: { schema?: Schema }) => schema?.format === "date-time";
  const withTime = OPERATIONS.filter(({ operation }) => queryOf(operation).some(isTime));

  it.each(sampled(4, withTime))("$title", async ({ title, path, operation }) => {
    for (const { name } of queryOf(operation).filter(isTime)) {
      const ask = (value: string) =>
        messageOf(
          `${path}?${new URLSearchParams({ ...validOf(title), [name]: value } as Record<string, string>)}`,
        );
      for (const value of ["2026-11-22", "2026-11-22T06:17Z", "2026-11-22T06:17:26.922+02:00"])
        expect([name, value, await ask(value)]).toEqual([name, value, null]);
      expect(await ask("2026-11-22T06:17:26")).toBe(
        `${name}: must be an ISO 8601 date, with a time zone when it has a time`,
      );
    }
  });
});

describe("a key that is limited to networks", () => {
  it.each(["/x402/payment-sources", "/x402/wallets"])(
    "is told which field of %s names the wrong one",
    async (path) => {
      const endpoint = ENDPOINTS.find((one) => one.method === "POST" && one.path === path);
      const token = await insertKey({ canPay: true, networkLimit: ["Preprod"] });
      const body = JSON.stringify(endpoint?.valid);
      const init = { method: "POST", headers: { token }, body };
      const answer = await app.request(`/api/v1${path}`, init, env);
      expect(answer.status).toBe(403);
      expect(await answer.json()).toMatchObject({
        error: { message: expect.stringMatching(/^caip2Network: the API key is not valid for /) },
      });
    },
  );
});
