import { headers, requestHeader } from "./headers.ts";
import type { JsonSchema, schemaRenderer } from "./json-schema.ts";
import type { Declaration } from "./router.ts";

type Renderer = ReturnType<typeof schemaRenderer>;

const COMMON_ERRORS: Record<number, string> = {
  413: "The body is larger than 1 MiB.",
  429: "Too many calls; see Retry-After.",
  500: "Internal Server Error.",
  503: "A dependency is unavailable or the request took too long; see Retry-After.",
};
const MAY_WAIT = new Set([429, 503, 504]);

/** The operation object of an endpoint. Its body and answer become components named after it. */
export function operation(declared: Declaration, renderer: Renderer): JsonSchema {
  const { operationId, tag, summary, description, access, scope, reach, aliasOf, security } =
    declared;
  const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
  const parameters = [
    ...(declared.query ? queryParameters(renderer.render(declared.query)) : []),
    ...(declared.idempotent ? [requestHeader("IdempotencyKey")] : []),
    ...(declared.takesBookmark ? [requestHeader("Bookmark")] : []),
    ...(declared.isConditional ? [requestHeader("IfNoneMatch")] : []),
  ];
  const text = [
    description,
    aliasOf && `Another name of \`${aliasOf}\`, which new clients use.`,
    access === null ? "Access: anyone, without a key." : `Access: ${access}. ${reach}`,
  ];
  return {
    operationId,
    tags: [tag],
    summary,
    description: text.filter(Boolean).join("\n\n"),
    ...(aliasOf && { deprecated: true }),
    security: security.map((scheme) => ({ [scheme]: [] })),
    "x-scope": scope,
    ...(parameters.length > 0 && { parameters }),
    ...(declared.body && {
      requestBody: {
        required: true,
        content: json(renderer.refer(`${name}Request`, declared.body)),
      },
    }),
    responses: {
      200: {
        description: "Success.",
        headers: headers(
          ...ALWAYS,
          ...(declared.takesBookmark ? (["X-D1-Bookmark"] as const) : []),
          ...(declared.isConditional ? (["ETag"] as const) : []),
          ...(declared.mayBePaged ? (["Link"] as const) : []),
          ...(declared.mayAskToRetry ? (["Retry-After"] as const) : []),
        ),
        content: declared.media
          ? { [declared.media]: { schema: renderer.render(declared.answer) } }
          : json(renderer.refer(`${name}Response`, declared.answer)),
      },
      ...(declared.isConditional && {
        304: {
          description: "The answer is the one that `If-None-Match` names.",
          headers: headers(...ALWAYS, "ETag"),
        },
      }),
      ...errorAnswers(declared, renderer),
    },
  };
}

const ALWAYS = ["X-Request-Id", "RateLimit-Policy", "X-Ignored-Fields"] as const;

function errorAnswers(declared: Declaration, renderer: Renderer): JsonSchema {
  const { body, errorBody } = declared;
  const errors: Record<number, string> = { ...COMMON_ERRORS, ...declared.errors };
  if (!body) delete errors[413];
  return Object.fromEntries(
    Object.entries(errors).map(([text, description]) => {
      const status = Number(text);
      const more = [
        ...(MAY_WAIT.has(status) ? (["Retry-After"] as const) : []),
        ...(status === 429 ? (["RateLimit"] as const) : []),
        ...(status === 401 ? (["WWW-Authenticate"] as const) : []),
      ];
      return [
        text,
        {
          description,
          headers: headers(
            "X-Request-Id",
            ...(status === 400 ? (["X-Ignored-Fields"] as const) : []),
            ...(status === 429 ? (["RateLimit-Policy"] as const) : []),
            ...more,
          ),
          content: json(renderer.render(errorBody(status))),
        },
      ];
    }),
  );
}

/** The parameters of a query, from the schema of all of them. */
function queryParameters({ properties = {}, required = [] }: JsonSchema): JsonSchema[] {
  const names = required as string[];
  return Object.entries(properties as Record<string, JsonSchema>).map(([name, property]) => {
    const { description, deprecated, ...schema } = property;
    return {
      name,
      in: "query",
      required: names.includes(name),
      description,
      ...(deprecated === true && { deprecated }),
      schema,
    };
  });
}

function json(schema: JsonSchema): JsonSchema {
  return { "application/json": { schema } };
}
