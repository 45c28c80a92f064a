/** The API reference in the system's Chromium; where there is none, a line says so. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findChromium, launch, openPage } from "../../devnet/client/console.ts";
import { type Host, startHost } from "../../devnet/host.ts";
import { expectAccessible } from "./accessible.ts";

const chromium = findChromium();
if (!chromium) console.log("no Chromium: the API reference is not looked at");

describe.runIf(chromium)("GET /docs in a browser", () => {
  let host: Host;
  let browser: Browser;
  beforeAll(async () => {
    host = await startHost({ bindings: {} });
    browser = await launch(chromium ?? "");
  });
  afterAll(async () => {
    await browser.close();
    await host.close();
  });

  test.each(["phone", "desktop"] as const)(
    "on a %s finds an operation, tries it and keeps nobody out",
    async (size) => {
      const page = await openPage(browser, { theme: "light", size });
      await page.goto(`${host.url}/docs`);
      await page.locator("rapi-doc h2, rapi-doc #overview").first().waitFor();
      await expectAccessible(page, `${size} overview`);
      await (size === "phone" ? findByFinder(page) : findByList(page));
      const attempt = page.locator("rapi-doc button[part~=btn-try]");
      await attempt.first().waitFor();
      await expectAccessible(page, `${size} operation`);
      const answer = page.waitForResponse((response) => response.url().endsWith("/health/live"));
      await attempt.first().click();
      expect((await answer).status()).toBe(200);
    },
  );
});

/** On a narrow screen: the page's own finder. */
async function findByFinder(page: Page): Promise<void> {
  await page.getByLabel("Find an operation").last().fill("health live");
  await page.getByLabel("Go to").selectOption("get-/api/v1/health/live");
}

/** On a wide screen: the renderer's list of methods and paths, and the filter above it. */
async function findByList(page: Page): Promise<void> {
  const list = page.getByRole("navigation", { name: "Operations" });
  const filter = list.getByRole("textbox");
  await filter.fill("/api/v1/health/live");
  await filter.press("Enter");
  await list.locator('[data-content-id="get-/api/v1/purchase"]').waitFor({ state: "detached" });
  await list.locator('[data-content-id="get-/api/v1/health/live"]').click();
}
