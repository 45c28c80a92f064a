/** Samples of each operation of the OpenAPI document, for curl, TypeScript and Python. */
import { exampleOf, type Schema } from "../docs/events.ts";

const SERVICE = "https://pay.example.com";

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
}

interface Operation {
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<
    string,
    { content?: Record<string, unknown>; headers?: Record<string, unknown> }
  >;
  security?: unknown[];
  "x-codeSamples"?: CodeSample[];
}

interface CodeSample {
  lang: string;
  label: string;
  source: string;
}

/** What is read of the OpenAPI document. */
export interface SampledDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; parameters?: Record<string, Parameter> };
  security?: unknown[];
}

/** A request that an operation accepts by its schema: with what is required, and nothing else. */
interface SampleRequest {
  method: string;
  path: string;
  pathValues: Record<string, unknown>;
  query: Record<string, unknown>;
  body: unknown;
  hasKey: boolean;
}

/** Adds samples to each operation as `x-codeSamples`. */
export function addSamples(document: SampledDocument): void {
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(operations)) {
      const request = createRequest(document, path, method, operation);
      operation["x-codeSamples"] = [
        { lang: "sh", label: "curl", source: writeCurl(request) },
        { lang: "ts", label: "TypeScript", source: writeTypeScript(request) },
        { lang: "python", label: "Python", source: writePython(request) },
      ];
    }
}

/** Leaves out the bodies of errors, which are the same everywhere: the page of the errors explains them. */
export function omitErrorBodies(document: SampledDocument): void {
  for (const operations of Object.values(document.paths))
    for (const { responses } of Object.values(operations))
      for (const [status, response] of Object.entries(responses)) {
        delete response.headers;
        if (Number(status) >= 400) delete response.content;
      }
}

function createRequest(
  document: SampledDocument,
  path: string,
  method: string,
  operation: Operation,
): SampleRequest {
  const { schemas, parameters: shared = {} } = document.components;
  const required = (operation.parameters ?? [])
    .map((one) => (one.$ref ? shared[one.$ref.split("/").at(-1) ?? ""] : one))
    .filter((one) => one?.required === true) as Parameter[];
  const valuesIn = (place: string) =>
    Object.fromEntries(
      required
        .filter((one) => one.in === place)
        .map((one) => [one.name, exampleOf(one.schema, schemas)]),
    );
  const schema = operation.requestBody?.content["application/json"]?.schema;
  return {
    method: method.toUpperCase(),
    path,
    pathValues: valuesIn("path"),
    query: valuesIn("query"),
    body: schema && exampleOf(schema, schemas, { isRequiredOnly: true }),
    hasKey: (operation.security ?? document.security ?? []).length > 0,
  };
}

function urlOf({ path, pathValues, query }: SampleRequest): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String(pathValues[name])),
  );
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, String(value)]),
  );
  return `${SERVICE}${filled}${search.size > 0 ? `?${search}` : ""}`;
}

/** Endpoints under /v1 take the key as `Authorization` alone. */
function keyHeader(path: string, key: string): [name: string, value: string] {
  return path.startsWith("/api/") ? ["token", key] : ["Authorization", `Bearer ${key}`];
}

function writeCurl(request: SampleRequest): string {
  const { method, path, body, hasKey } = request;
  const options: string[] = [];
  const isDefault = method === "GET" || (method === "POST" && body !== undefined);
  if (!isDefault) options.push(`-X ${method}`);
  options.push(`'${urlOf(request).replaceAll("'", "%27")}'`);
  if (hasKey) options.push(`-H "${keyHeader(path, "$API_KEY").join(": ")}"`);
  if (body !== undefined) {
    options.push(`-H 'content-type: application/json'`);
    options.push(`-d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`);
  }
  return `curl ${options.join(" \\\n  ")}`;
}

function writeTypeScript(request: SampleRequest): string {
  const { method, path, pathValues, query, body, hasKey } = request;
  const params = {
    ...(Object.keys(pathValues).length > 0 && { path: pathValues }),
    ...(Object.keys(query).length > 0 && { query }),
  };
  const options = {
    ...(Object.keys(params).length > 0 && { params }),
    ...(body !== undefined && { body }),
  };
  const rest = Object.keys(options).length > 0 ? `, ${toLiteral(options)}` : "";
  const token = hasKey ? `, token: process.env.API_KEY ?? ""` : "";
  return `import { createClient } from "agent-payment-service-client";

const client = createClient({ baseUrl: "${SERVICE}"${token} });
const { data, error } = await client.${method}("${path}"${rest});
if (error) throw new Error(JSON.stringify(error));
console.log(data);`;
}

/** JSON, with names of members as JavaScript writes them. */
function toLiteral(value: object): string {
  return JSON.stringify(value, null, 2).replace(/^( *)"([A-Za-z_$][\w$]*)":/gm, "$1$2:");
}

function writePython(request: SampleRequest): string {
  const { method, path, body, hasKey } = request;
  const lines = [`"${method}"`, `"${urlOf(request)}"`];
  if (hasKey) {
    const [name] = keyHeader(path, "");
    const key = `os.environ["API_KEY"]`;
    lines.push(`headers={"${name}": ${name === "token" ? key : `"Bearer " + ${key}`}}`);
  }
  if (body !== undefined) lines.push(`json=${toPython(body, "    ")}`);
  return `${hasKey ? "import os\n" : ""}import requests

response = requests.request(
${lines.map((line) => `    ${line},`).join("\n")}
)
response.raise_for_status()
print(response.text)`;
}

function toPython(value: unknown, indent: string): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((item) => toPython(item, inner))
    : Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(name)}: ${toPython(item, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  return `${open}\n${items.map((item) => `${inner}${item},`).join("\n")}\n${indent}${close}`;
}
