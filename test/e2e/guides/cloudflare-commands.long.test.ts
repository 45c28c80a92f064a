/** The commands of docs that reach Cloudflare, given to wrangler as they stand, up to Cloudflare's API. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../copies.ts";
import { shellBlocksOf } from "./blocks.ts";

/** Needs a person at a browser. */
const ASKS = "npx wrangler login";
/** Builds the whole site first; its parts are run elsewhere. */
const BUILDS = /^npm run deploy\b/;

const VERSION = "00000000-0000-4000-8000-000000000000";

/** Requests that wrangler sent, in the place of Cloudflare. */
const requests: string[] = [];
const cloudflare: Server = createServer((request, response) => {
  requests.push(`${request.method} ${request.url}`);
  response.writeHead(403, { "content-type": "application/json" });
  const errors = [{ code: 10000, message: "Authentication error" }];
  response.end(JSON.stringify({ success: false, errors, messages: [], result: null }));
});
let clone: string;

beforeAll(async () => {
  cloudflare.listen(0, "127.0.0.1");
  await once(cloudflare, "listening");
  clone = mkdtempSync(join(tmpdir(), "cloudflare-"));
  for (const name of readdirSync(root))
    if (!name.startsWith(".")) symlinkSync(join(root, name), join(clone, name));
  writeFileSync(join(clone, "backup.sql"), "SELECT 1;\n");
});

afterAll(() => {
  cloudflare.close();
  rmSync(clone, { recursive: true });
});

/** A command that wrangler runs, or a program over it; a quoted text may have several lines. */
const COMMAND = /\b(?:npx wrangler|npm run (?:migrate:remote|deploy))\b(?:"[^"]*"|[^"\n&#])*/g;

/** Such commands of the docs, each once. */
function commands(): string[] {
  const pages = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)];
  const found = pages
    .filter((page) => page.endsWith(".md"))
    .flatMap(shellBlocksOf)
    .flatMap((block) => block.replaceAll("\\\n", "").match(COMMAND) ?? [])
    .map((command) => command.trim());
  return [...new Set(found)].filter((command) => command !== ASKS && !BUILDS.test(command));
}

it.each(commands())("%s is understood, and asks Cloudflare", async (command) => {
  requests.length = 0;
  const { port } = cloudflare.address() as AddressInfo;
  const env = {
    ...process.env,
    CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}`,
    CLOUDFLARE_ACCOUNT_ID: "0".repeat(32),
    CLOUDFLARE_API_TOKEN: "token",
    WRANGLER_SEND_METRICS: "false",
    CI: "true",
    secrets: ".secrets/production.env",
  };
  const said = await new Promise<string>((resolve) => {
    const shell = execFile(
      "sh",
      ["-c", command.replace("<version id>", VERSION)],
      { cwd: clone, env },
      (_, stdout, stderr) => resolve(stdout + stderr),
    );
    shell.stdin?.end("typed\n");
  });
  expect(said).not.toMatch(/unknown argument|not enough|missing required/i);
  expect(requests, said).not.toEqual([]);
});
