/**
 * `node tools/docs/pictures.ts [url] [admin key]` takes the pictures of the console in docs/ again. Run it
 * when the demo of `npm start` has run for some minutes.
 *
 * The default address is the one of `npm start`, and the default key is in `.dev.vars`. The script needs a
 * Chromium: `CHROMIUM`, or one on the path.
 */
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { ask } from "../../devnet/client/api.ts";
import { findChromium, launch, openConsole, show, signIn } from "../../devnet/client/console.ts";
import { developmentSecrets } from "../../devnet/secrets.ts";

const [url = "http://127.0.0.1:8787", key = developmentSecrets().ADMIN_KEY] = process.argv.slice(2);
const DOCS = new URL("../../docs/", import.meta.url);
const HEIGHT = 820;

const chromium = findChromium();
if (chromium === null) throw new Error("no Chromium: set CHROMIUM, or install one");

/** The first payment of a state that is still under way, so that its page says what comes next. */
const { Payments } = await ask<{ Payments: { id: string }[] }>(
  { url, token: key },
  "GET",
  "/payment?network=Preprod&limit=1&filterOnChainState=ResultSubmitted",
);
const [payment] = Payments;
if (!payment) throw new Error("no payment waits with its result: let the demo go on for a minute");

const openFirst = (page: Page) => page.locator("main button.open").first().click();

const PICTURES = [
  { name: "overview", fragment: "#/overview?period=day" },
  { name: "payments", fragment: "#/payment" },
  { name: "escrow", fragment: `#/payment/${payment.id}` },
  { name: "wallets", fragment: "#/wallets" },
  { name: "webhooks", fragment: "#/webhooks", size: "phone", prepare: openFirst },
] as const;

const browser = await launch(chromium);
try {
  for (const { name, fragment, ...more } of PICTURES) {
    const isPhone = "size" in more;
    const { page } = await openConsole(browser, url, {
      ...{ theme: "light", size: isPhone ? "phone" : "desktop" },
    });
    await page.setViewportSize({ width: isPhone ? 390 : 1280, height: HEIGHT });
    await signIn(page, key);
    await show(page, fragment);
    if ("prepare" in more) await more.prepare(page);
    await page.waitForLoadState("networkidle");
    await page.screenshot({ path: fileURLToPath(new URL(`console-${name}.png`, DOCS)) });
    await page.context().close();
  }
} finally {
  await browser.close();
}
