import * as z from "zod";
import { createRouter, type Router } from "../http/endpoint.ts";
import type { EndpointDeclaration } from "../http/router.ts";
import { ANSWER_FIELDS, type JsonObject } from "./answer-table.ts";

/**
 * Routes that add the fields of `ANSWER_FIELDS` to what the routes after them answer. Those answers have no
 * number of more than 53 bits, which would lose digits here.
 */
export function createAnswerRoutes(): Router {
  const router = createRouter();
  for (const [operation, { at, fieldsOf }] of Object.entries(ANSWER_FIELDS)) {
    const [method = "", path = ""] = operation.split(" ");
    router.on([method], [path], async (c, next) => {
      const build = (record: JsonObject) => fieldsOf(record, c.env);
      const extend = (text: string) =>
        JSON.stringify(extendRecords(JSON.parse(text), ["data", ...at], build));
      c.set("extendAnswer", extend);
      await next();
      if (c.res.status === 200 && !c.res.headers.has("etag"))
        c.res = new Response(extend(await c.res.text()), c.res);
    });
  }
  return router;
}

/** The declaration of an operation with the fields that its answers get. */
export function extendDeclaration(
  operation: string,
  declared: EndpointDeclaration,
): EndpointDeclaration {
  const added = ANSWER_FIELDS[operation];
  if (!added) return declared;
  const { at, schema, suffix = "" } = added;
  return {
    ...declared,
    responseBody: extendSchema(declared.responseBody, ["data", ...at], schema, suffix),
  };
}

/** @param path - from the value to the records. A list passes the path on to each of its items. */
function extendRecords(
  value: unknown,
  path: readonly string[],
  fieldsOf: (record: JsonObject) => JsonObject,
): unknown {
  if (Array.isArray(value)) return value.map((item) => extendRecords(item, path, fieldsOf));
  const [name, ...rest] = path;
  const record = value as JsonObject;
  if (name === undefined) return { ...record, ...fieldsOf(record) };
  return { ...record, [name]: extendRecords(record[name], rest, fieldsOf) };
}

function extendSchema(
  schema: z.ZodType,
  path: readonly string[],
  fields: z.ZodRawShape,
  suffix: string,
): z.ZodType {
  const [name, ...rest] = path;
  const extend = (one: unknown, at = path) => extendSchema(one as z.ZodType, at, fields, suffix);
  if (schema instanceof z.ZodUnion) return z.union(schema.options.map((one) => extend(one)));
  const object = schema as z.ZodObject;
  const extended =
    schema instanceof z.ZodArray
      ? z.array(extend(schema.element))
      : object.extend(name === undefined ? fields : { [name]: extend(object.shape[name], rest) });
  const meta = z.globalRegistry.get(schema) ?? {};
  return extended.meta(meta.id && name === undefined ? { ...meta, id: meta.id + suffix } : meta);
}
