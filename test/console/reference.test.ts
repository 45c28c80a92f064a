/** The API reference in the system's Chromium; where there is none, a line says so. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Host, startHost } from "../../devnet/host.ts";
import { expectAccessible, findChromium, launch, SIZES } from "./browser.ts";

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

  test.each(["phone"] as const)(
    "on a %s finds an operation, tries it and keeps nobody out",
    async (size) => {
      const page = await (await browser.newContext({ viewport: SIZES[size] })).newPage();
      await page.goto(`${host.url}/docs`);
      await page.locator("rapi-doc h2, rapi-doc #overview").first().waitFor();
      await expectAccessible(page, `${size} overview`);
      await page.getByLabel("Find an operation").last().fill("health live");
      await page.getByLabel("Go to").selectOption("get-/api/v1/health/live");
      const attempt = page.locator("rapi-doc button[part~=btn-try]");
      await attempt.first().waitFor();
      await expectAccessible(page, `${size} operation`);
      const answer = page.waitForResponse((response) => response.url().endsWith("/health/live"));
      await attempt.first().click();
      expect((await answer).status()).toBe(200);
    },
  );
});
