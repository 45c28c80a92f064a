/** The documentation site that `npm run site` builds, served and in the system's Chromium, if there is one. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findChromium, LOOKS, launch, openPage } from "../../devnet/client/console.ts";
import { PUBLIC } from "../../devnet/folders.ts";
import { type Host, startHost } from "../../devnet/host.ts";
import { ERROR_CODES } from "../../src/http/errors/codes.ts";
import { readGuideGroups } from "../../tools/docs/guides.ts";
import { readGuides } from "../../tools/docs/read-guides.ts";
import { expectAccessible } from "../console/accessible.ts";
import { root } from "../e2e/copies.ts";

const runFile = promisify(execFile);
const chromium = findChromium();
if (!chromium) console.log("no Chromium: the documentation site is not looked at");

const PATHS = [
  "/docs",
  "/docs/errors",
  "/docs/webhooks",
  "/docs/operating",
  "/docs/console",
  "/docs/api",
  "/docs/api/operations/createpurchase",
  "/docs/api/operations/listpayments",
  "/docs/api/webhooks/onpurchaseonerror",
];

let host: Host;
beforeAll(async () => {
  await runFile(process.execPath, ["devnet/assets.ts"], { cwd: root });
  await runFile(process.execPath, ["tools/site/build.ts"], { cwd: root });
  host = await startHost({ bindings: {} });
});
afterAll(async () => {
  await host.close();
  // Other tests have the small page again.
  await runFile(process.execPath, ["devnet/assets.ts"], { cwd: root });
});

const textOf = async (path: string) => {
  const answer = await fetch(`${host.url}${path}`);
  expect([path, answer.status]).toEqual([path, 200]);
  return answer.text();
};

const listFiles = () => readdirSync(PUBLIC, { recursive: true, encoding: "utf8" });

/** The HTML files of the site, by the path at which each is served. */
function readPages(): Map<string, string> {
  const files = listFiles().filter((file) => /^docs(\.html$|\/.*\.html$)/.test(file));
  return new Map(
    files.map((file) => [
      `/${file.replace(/\.html$/, "")}`,
      readFileSync(join(PUBLIC, file), "utf8"),
    ]),
  );
}

describe("the site at /docs", () => {
  it("has a page for each guide, beside its Markdown, and for the changelog", async () => {
    const index = readFileSync(join(root, "docs/llms.txt"), "utf8");
    const guides = readGuides();
    for (const { name, title } of readGuideGroups(index).flatMap((group) => group.guides)) {
      expect(await textOf(`/docs/${name}`)).toContain("<h1");
      expect(await textOf(`/docs/${name}.md`)).toBe(guides[`${name}.md`]);
      expect(await textOf("/docs")).toContain(title);
    }
    expect(await textOf("/docs/changelog")).toContain("1.0.0");
    expect(await textOf("/llms.txt")).toBe(index);
  });

  it("has an index of its words, which the search loads", async () => {
    await textOf("/docs/pagefind/pagefind.js");
    const entry = JSON.parse(await textOf("/docs/pagefind/pagefind-entry.json"));
    expect(entry.languages.en.page_count).toBeGreaterThan(200);
  });

  it("has a section for each error code, to which error.docs leads", async () => {
    const page = await textOf("/docs/errors");
    for (const code of Object.keys(ERROR_CODES)) expect(page).toContain(`id="${code}"`);
  });

  it("has a page for each operation and event, with its samples", async () => {
    const document = JSON.parse(await textOf("/api/v1/openapi.json"));
    for (const [path, operations] of Object.entries<object>(document.paths))
      for (const { operationId } of Object.values(operations)) {
        const page = await textOf(`/docs/api/operations/${operationId.toLowerCase()}`);
        for (const text of [path, ">curl<", ">TypeScript<", ">Python<"])
          expect(`${operationId} has ${page.includes(text) ? text : "no"}`).toBe(
            `${operationId} has ${text}`,
          );
      }
    for (const { post } of Object.values<{ post: { operationId: string } }>(document.webhooks))
      await textOf(`/docs/api/webhooks/${post.operationId.toLowerCase()}`);
  });

  it("has links that lead somewhere, also within a page", () => {
    const pages = readPages();
    const anchors = new Map(
      [...pages].map(([path, html]) => [
        path,
        new Set([...html.matchAll(/\bid="([^"]+)"/g)].map(([, id = ""]) => id)),
      ]),
    );
    const files = new Set(listFiles().map((file) => `/${file}`));
    const broken = [...pages].flatMap(([page, html]) =>
      [...html.matchAll(/<a\b[^>]*\bhref="([^"]*)"/g)]
        .map(([, link = ""]) => new URL(link, `${host.url}${page}`))
        .filter(({ origin, pathname, hash }) => {
          if (origin !== host.url || pathname === "/api/v1/openapi.json") return false;
          const ids = anchors.get(pathname);
          if (!ids) return !files.has(pathname);
          return hash !== "" && hash !== "#_top" && !ids.has(decodeURIComponent(hash.slice(1)));
        })
        .map(({ pathname, hash }) => `${page}: ${pathname}${hash}`),
    );
    expect([...new Set(broken)]).toEqual([]);
  });

  it("has samples in TypeScript that compile with the client", async () => {
    const folder = join(root, "tools/site/generated/samples");
    mkdirSync(folder, { recursive: true });
    const document = JSON.parse(
      readFileSync(join(root, "tools/site/generated/openapi.json"), "utf8"),
    );
    for (const operations of Object.values<object>(document.paths))
      for (const operation of Object.values(operations)) {
        const { source } = operation["x-codeSamples"][1];
        writeFileSync(join(folder, `${operation.operationId}.ts`), source);
      }
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: "../../../../tsconfig.node.json", include: ["*.ts"] }),
    );
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    await expect(runFile(process.execPath, [tsc, "-p", folder])).resolves.toBeDefined();
  });
});

describe.runIf(chromium)("the site in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch(chromium ?? "");
  });
  afterAll(() => browser.close());

  it.each(LOOKS)("keeps nobody out, and obeys its policy: $size, $theme", async (look) => {
    const page = await openPage(browser, look);
    const complaints: string[] = [];
    page.on("pageerror", ({ message }) => complaints.push(message));
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    for (const path of PATHS) {
      await page.goto(`${host.url}${path}`, { waitUntil: "networkidle" });
      await expectAccessible(page, `${path}, ${look.size}, ${look.theme}`);
    }
    expect(complaints).toEqual([]);
  });

  it("finds an operation by a word of its summary", async () => {
    const page = await openPage(browser, { theme: "light", size: "phone" });
    await page.goto(`${host.url}/docs`, { waitUntil: "networkidle" });
    const box = page.getByRole("textbox");
    // A click before the script of the button runs opens nothing.
    await expect
      .poll(async () => {
        if (!(await box.isVisible())) await page.getByRole("button", { name: "Search" }).click();
        return box.isVisible();
      })
      .toBe(true);
    await box.fill("accepts a quote");
    await page
      .getByRole("link", { name: /Accepts a quote/ })
      .first()
      .click();
    await page.waitForURL(/createpurchase/);
  });

  it("loads its first view with less than 300 KB", async () => {
    const page = await openPage(browser, { theme: "light", size: "desktop" });
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    let bytes = 0;
    session.on("Network.loadingFinished", ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await page.goto(`${host.url}/docs`, { waitUntil: "networkidle" });
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(300 * 1024);
  });
});
