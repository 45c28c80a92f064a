/** The console in a real browser: the system's Chromium, where there is one. For tests, the bench and pictures. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";

const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Path of a Chromium of this machine: `CHROMIUM`, or one on the path; null: there is none. */
export function findChromium(): string | null {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const paths = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [process.env.CHROMIUM ?? "", ...paths].find((path) => path && existsSync(path)) ?? null;
}

export const SIZES = {
  desktop: { width: 1280, height: 850 },
  phone: { width: 390, height: 844 },
} as const;

/**
 * Milliseconds that a page is waited for: it ends a test that hangs, sooner than the test's own limit, which
 * would not say for what. No machine is too busy for it.
 */
const PATIENCE_MS = 240_000;

/** How a page is looked at. */
export interface Look {
  theme: "light" | "dark";
  size: keyof typeof SIZES;
}

/** All of them; those next to each other differ most. */
export const LOOKS: readonly Look[] = [
  { theme: "light", size: "desktop" },
  { theme: "dark", size: "phone" },
  { theme: "dark", size: "desktop" },
  { theme: "light", size: "phone" },
];

/** A signed-in tab, and what its console complained of: broken policies and uncaught errors among it. */
export interface Tab {
  page: Page;
  complaints: string[];
}

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath });
}

/** An empty page, which waits for whatever it is to show. */
export async function openPage(browser: Browser, { theme, size }: Look): Promise<Page> {
  const context = await browser.newContext({ viewport: SIZES[size], colorScheme: theme });
  context.setDefaultTimeout(PATIENCE_MS);
  return context.newPage();
}

export async function openConsole(browser: Browser, url: string, look: Look): Promise<Tab> {
  const page = await openPage(browser, look);
  const complaints: string[] = [];
  page.on("pageerror", ({ message }) => complaints.push(message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  await page.goto(`${url}/console`);
  return { page, complaints };
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}

/** Shows a page of the console, once what it reads has arrived. */
export async function show(page: Page, fragment: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, fragment);
  try {
    await page.locator("main h1, main .panel").first().waitFor();
    await page.locator("main .reading").waitFor({ state: "detached" });
  } catch (cause) {
    const shown = await page.locator("body").innerText();
    throw new Error(`${fragment} is not shown, but: ${shown}`, { cause });
  }
}
