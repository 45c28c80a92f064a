import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { RECORD_KINDS } from "../../tools/export/record-kinds.ts";
import { run } from "./copies.ts";

const TOKEN = "admin-key";
/** The paths that were requested, each with the key that came with it. */
const requests: string[] = [];
const lists = new Set(RECORD_KINDS.map(({ list }) => list));

/** A service without records, but for one unit. */
const server: Server = createServer((request, response) => {
  requests.push(`${new URL(request.url ?? "", "http://x").pathname} ${request.headers.token}`);
  const data = Object.fromEntries([...lists].map((list) => [list, []]));
  response.setHeader("content-type", "application/json");
  const body = { status: "success", data: { ...data, Units: [{ unit: "ab", ticker: "AB" }] } };
  response.end(JSON.stringify(body));
});
let serviceUrl: string;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  serviceUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
});

async function exportWith(env: Record<string, string>, ...flags: string[]) {
  const program = run(process.execPath, ["tools/export/export.ts", ...flags], env);
  const [code] = await once(program.process, "close");
  return { code, stdout: program.stdout, stderr: program.stderr };
}

it("npm run export writes a line for each record to the standard output", async () => {
  const env = { SERVICE_URL: serviceUrl, SERVICE_TOKEN: TOKEN };
  const { code, stdout } = await exportWith(env, "--network=Preprod");
  expect(code).toBe(0);
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toEqual([
    expect.objectContaining({ network: "Preprod", upTo: expect.anything() }),
    { kind: "unit", record: { unit: "ab", ticker: "AB" } },
    { isComplete: true, counts: expect.objectContaining({ unit: 1, payment: 0 }) },
  ]);
  // There are no webhooks, so nobody asks for their deliveries.
  for (const { of, path } of RECORD_KINDS.filter(({ kind }) => kind !== "webhook-delivery"))
    expect(requests.includes(`${path} ${TOKEN}`), path).toBe(of !== "chain");
});

it.each([
  ["no network", {}, []],
  ["no service", { SERVICE_URL: "", SERVICE_TOKEN: "" }, ["--network=Preprod"]],
  ["an unknown option", {}, ["--all"]],
] as const)("npm run export refuses %s in one line", async (_, env, flags) => {
  const { code, stdout, stderr } = await exportWith({ ...env }, ...flags);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr.trim().split("\n")).toHaveLength(1);
});
