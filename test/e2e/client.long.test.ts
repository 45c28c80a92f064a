/** `client/` as its users have it: packed, and installed into an empty project. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findChromium, launch } from "../../devnet/client/console.ts";
import { type Host, startHost } from "../../devnet/host.ts";
import { machinePath, root } from "./copies.ts";
import { blocksOf, commandOf, GUIDES } from "./guides/blocks.ts";
import { PackedClient } from "./packed-client.ts";

const GZIP_LIMIT_BYTES = 10 * 1024;
const ADMIN_KEY = "test-only-admin-key";

const chromium = findChromium();
if (!chromium) console.log("no Chromium: the client is not run in a browser");
const hasDeno = spawnSync("deno", ["--version"]).status === 0;
if (!hasDeno) console.log("no Deno: the client is not run in it");

let project: string;
let host: Host;

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "client-"));
  write("package.json", { type: "module", private: true });
  const guide = readFileSync(join(root, "docs/clients.md"), "utf8");
  const [, command] = /^```sh\n(npm install .*)$/m.exec(guide) ?? [];
  if (!command) throw new Error("docs/clients.md: no command installs the client");
  const packed = await PackedClient.open();
  await packed.install(project, command);
  packed.close();
  host = await startHost({
    bindings: {
      ADMIN_KEY,
      API_KEY_SECRET: "test-only-api-key-secret-0123456789",
      SEALING_KEYS: "k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
    },
  });
});

afterAll(async () => {
  await host.close();
  rmSync(project, { recursive: true });
});

function run(cwd: string, command: string, ...args: string[]): string {
  return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function write(name: string, content: string | object): string {
  const path = join(project, name);
  mkdirSync(project, { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

/** Uses what a program uses; `SERVICE_NETWORK` and `KEY` are where it is told to look. */
const PROGRAM = `
import { createClient, follow, hashInput, purchaseFeed, unwrap } from "agent-payment-service-client";

export async function use(baseUrl: string, token: string): Promise<object> {
  const client = createClient({ baseUrl, token });
  const { canAdmin } = unwrap(await client.GET("/api/v1/api-key-status"));
  const seen: string[] = [];
  for await (const { item } of follow(purchaseFeed(client, "Preprod"), { once: true }))
    seen.push(item.onChainState ?? "");
  return { canAdmin, seen, hash: await hashInput("00", {}) };
}
`;
const EXPECTED = {
  canAdmin: true,
  seen: [],
  hash: "dcbf81ef4f250f2d1b43c7a9acef1a890abcd316823fb9c3ce08d189003a559c",
};

describe("agent-payment-service-client, packed", () => {
  it("has what a registry would get, and no more", () => {
    const folder = join(project, "node_modules/agent-payment-service-client");
    expect(readdirSync(folder).sort()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
    expect(readFileSync(join(folder, "LICENSE"), "utf8")).toBe(
      readFileSync(join(root, "LICENSE"), "utf8"),
    );
    const { version, exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    expect(version).toBe(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);
    for (const file of Object.values(exports["."])) readFileSync(join(folder, file as string));
  });

  it("has its types with it", () => {
    write("use.ts", PROGRAM);
    const compilerOptions = {
      module: "nodenext",
      target: "es2022",
      lib: ["es2023", "dom", "dom.iterable"],
      types: [],
      strict: true,
      exactOptionalPropertyTypes: true,
    };
    write("tsconfig.json", { compilerOptions, files: ["use.ts"] });
    run(project, process.execPath, join(root, "node_modules/typescript/bin/tsc"), "-p", project);
    write("wrong.ts", PROGRAM.replace("canAdmin", "canFly"));
    write("tsconfig.json", { compilerOptions, files: ["wrong.ts"] });
    expect(() =>
      run(project, process.execPath, join(root, "node_modules/typescript/bin/tsc"), "-p", project),
    ).toThrow();
  });

  it("has types that the programs of the guides pass", () => {
    // Beside the client, the programs use these.
    for (const name of ["@types", "@hono", "hono", ".bin"])
      symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name));
    const compilerOptions = {
      module: "nodenext",
      target: "es2022",
      lib: ["es2023", "dom", "dom.iterable"],
      types: ["node"],
      strict: true,
      noEmit: true,
      skipLibCheck: true,
    };
    const programs = [...GUIDES, "first-job.md" as const].flatMap((guide) => blocksOf(guide, "ts"));
    const files = programs.map(({ name, language, code }) => {
      const file = `${name.replace(/\W/g, "-")}.m${language}`;
      write(file, code);
      return file;
    });
    expect(files).not.toEqual([]);
    write("tsconfig.json", { compilerOptions, files });
    run(project, process.execPath, join(root, "node_modules/typescript/bin/tsc"), "-p", project);

    rmSync(join(project, "tsconfig.json"));
    const check = commandOf("clients.md", "*.mts").code;
    expect(run(project, "sh", "-c", check)).toBe("");
    write("wrong.mts", PROGRAM.replace("canAdmin", "canFly"));
    expect(() => run(project, "sh", "-c", check)).toThrow();
  });

  it("runs in Node, also in that of the machine", () => {
    const script = `import { use } from "./use.js";
      console.log(JSON.stringify(await use("${host.url}/api/v1", "${ADMIN_KEY}")));`;
    for (const PATH of [process.env.PATH ?? "", machinePath()]) {
      const command = ["env", `PATH=${PATH}`, "node", "--input-type=module", "-e", script] as const;
      expect(JSON.parse(run(project, ...command))).toEqual(EXPECTED);
    }
  });

  it("runs in a Worker, and for browsers is no larger than 10 KB", async () => {
    const script = await bundle(`import { use } from "./use.js";
      export default { fetch: async () =>
        Response.json(await use("${host.url}", "${ADMIN_KEY}")) };`);
    const options = { modules: true as const, compatibilityDate: "2026-08-15", script };
    const worker = new Miniflare(convertV4MiniflareOptions(options));
    try {
      const { origin } = await worker.ready;
      expect(await (await fetch(origin)).json()).toEqual(EXPECTED);
    } finally {
      await worker.dispose();
    }
    const everything = await bundle('export * from "agent-payment-service-client";');
    expect(gzipSync(everything).length).toBeLessThan(GZIP_LIMIT_BYTES);
  });

  it.runIf(chromium)("runs in a browser, on a page of another origin", async () => {
    const script = await bundle(`import { use } from "./use.js"; globalThis.use = use;`);
    // Of this machine too: browsers let no page of the internet ask it.
    const shop = createServer((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end("<!doctype html><title>A shop</title>");
    });
    const { port } = await new Promise<AddressInfo>((listening) => {
      shop.listen(0, "127.0.0.1", () => listening(shop.address() as AddressInfo));
    });
    const browser = await launch(chromium ?? "");
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.addScriptTag({ content: script, type: "module" });
      expect(await page.evaluate(`use("${host.url}", "${ADMIN_KEY}")`)).toEqual(EXPECTED);
    } finally {
      await browser.close();
      shop.close();
    }
  });

  if (hasDeno)
    it("runs in Deno", () => {
      const script = `import { use } from "./use.js";
        console.log(JSON.stringify(await use("${host.url}", "${ADMIN_KEY}")));`;
      const path = write("deno.js", script);
      const printed = run(project, "deno", "run", "--no-remote", "--allow-net", path);
      expect(JSON.parse(printed)).toEqual(EXPECTED);
    });
});

/** A program as a browser or a Worker loads it: one file. */
async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: project },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}
