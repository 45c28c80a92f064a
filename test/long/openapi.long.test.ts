/**
 * The OpenAPI document in the hands of those who use it: linters, and generators of clients. They need
 * another TypeScript than this project and many packages, so they live in `tools/openapi`, where they
 * are installed now.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { type Address, freePort, killCopies, ready, records, root, start } from "../e2e/copies.ts";

const TOOLS = join(root, "tools/openapi");
const CLIENTS = ["openapi-fetch", "hey-api"];

let service: Address;

beforeAll(async () => {
  await run("npm", ["ci"]);
  service = await ready(start(await freePort()));
  const answer = await fetch(`${service.url}/api-docs`);
  mkdirSync(join(TOOLS, "generated"), { recursive: true });
  writeFileSync(join(TOOLS, "generated/openapi.json"), await answer.text());
});

afterAll(killCopies);

/** Runs a program in the folder of the tools. Throws with what it printed when it fails. */
async function run(
  command: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  const options = { cwd: TOOLS, env: { ...process.env, ...env } };
  try {
    return (await promisify(execFile)(command, args, options)).stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(" ")} failed\n${stdout}${stderr}`, { cause: error });
  }
}

describe("the OpenAPI document", () => {
  it.each(["redocly", "spectral"])("has no error and no warning by %s", async (linter) => {
    await run("npm", ["run", `lint:${linter}`]);
  });
});

describe("the clients that openapi-typescript and @hey-api/openapi-ts generate", () => {
  beforeAll(async () => {
    await run("npm", ["run", "generate"]);
    // Under `strict`, without errors in what was generated or in what uses it.
    await run("npm", ["run", "build"]);
  });

  it.each(CLIENTS)("list, follow a diff, create once and read an error: %s", async (client) => {
    const output = await run(process.execPath, [`dist/clients/${client}.js`], {
      SERVICE_URL: service.url,
      SERVICE_TOKEN: service.adminKey,
    });
    const { contracts, purchases, created, refused } = JSON.parse(output);

    const access = { url: service.url, token: service.adminKey };
    const sources = await ask<{ PaymentSources: { smartContractAddress: string }[] }>(
      access,
      "GET",
      "/payment-source",
    );
    expect(contracts).toHaveLength(2);
    expect(contracts).toEqual(sources.PaymentSources.map((one) => one.smartContractAddress));
    const known = (await records(service, "purchase")).map(({ id }) => id);
    expect(known.length).toBeGreaterThan(2);
    expect([...purchases].sort()).toEqual([...known].sort());
    const keys = await ask<{ ApiKeys: { id: string }[] }>(access, "GET", "/api-key?limit=100");
    expect(keys.ApiKeys.filter(({ id }) => created.includes(id))).toHaveLength(1);
    expect(refused).toEqual({ status: 400, code: "invalid_request", field: "limit" });
  });
});
