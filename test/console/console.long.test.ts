/**
 * The console, served by `npm start` with its demo, as an operator uses it. Without a Chromium only what
 * needs none is tested, and a line says so.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CONSOLE_HEADERS } from "../../console/build.ts";
import { LIST_PAGES } from "../../console/pages/lists.ts";
import type { PageDefinition } from "../../console/ui/resource.ts";
import { ask } from "../../devnet/client/api.ts";
import {
  findChromium,
  LOOKS,
  type Look,
  launch,
  openConsole,
  show,
  signIn,
} from "../../devnet/client/console.ts";
import { until } from "../../devnet/client/wait.ts";
import { type Address, freePort, killCopies, ready, start } from "../e2e/copies.ts";
import { paired, sized } from "../support/effort.ts";
import { expectAccessible } from "./accessible.ts";
import { collectApiNames, findApiNames } from "./api-names.ts";
import { type ApiDocument, unknownNames, unknownSteps } from "./pages.ts";

const MARKUP = `<img src=x onerror="document.title='pwned'"><b>&amp;bold</b>`;

let service: Address;
/** The newest of the past, which the service has to follow first. */
let payment: { id: string };
/** A receiver that wants nothing any more, until it is back. */
const gone = { url: "", isBack: false };
const receiver = createServer((request, response) => {
  request.resume();
  response.writeHead(gone.isBack ? 204 : 410).end();
});
beforeAll(async () => {
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  gone.url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  service = await ready(start(await freePort(), `--origins=${gone.url}`));
  payment = await until(
    async () => {
      const { Payments } = await api<{ Payments: { id: string }[] }>(
        "GET",
        "/payment?network=Preprod&limit=1",
      );
      return Payments[0];
    },
    { what: "a payment" },
  );
});
afterAll(() => {
  killCopies();
  receiver.close();
});

const api = <Data>(method: "GET" | "POST" | "PATCH", path: string, body?: object) =>
  ask<Data>({ url: service.url, token: service.adminKey }, method, path, body);

describe("GET /console", () => {
  test("/ leads to it, and each of its files has the policy that lets nothing else in", async () => {
    const root = await fetch(service.url, { redirect: "manual" });
    expect([root.status, root.headers.get("location")]).toEqual([302, "/console"]);
    for (const path of ["/console", "/console/app.js", "/console/style.css", "/console/icon.svg"]) {
      const { status, headers } = await fetch(service.url + path);
      expect(`${path} ${status}`).toBe(`${path} 200`);
      for (const header of CONSOLE_HEADERS) {
        const [name = "", value] = header.split(": ");
        expect(`${path} ${name}: ${headers.get(name)}`).toBe(`${path} ${name}: ${value}`);
      }
    }
  });

  test("its pages name only what the API has", async () => {
    const document = await (await fetch(`${service.url}/api/v1/openapi.json`)).json();
    expect(unknownNames(document as ApiDocument, LIST_PAGES)).toEqual([]);
    for (const side of ["payment", "purchase"] as const)
      expect(unknownSteps(document as ApiDocument, side)).toEqual([]);
    const [page] = LIST_PAGES;
    const [tab] = page?.tabs ?? [];
    if (!page || !tab) throw new Error("there is no page");
    const wrong: PageDefinition = {
      ...page,
      tabs: [{ ...tab, columns: [{ heading: "?", path: "no.such" }] }],
    };
    expect(unknownNames(document as ApiDocument, [wrong])).toContain(
      `${page.name}/${tab.name}: row has no no.such`,
    );
  });
});

const TABS = LIST_PAGES.flatMap(({ name, tabs }) =>
  tabs.map((tab, i) => `#/${name}${i === 0 ? "" : `?tab=${tab.name}`}`),
);
const FRAGMENTS = ["#/overview", "#/payment", "#/purchase", ...TABS];
const DIALOGS = LIST_PAGES.flatMap(({ name, tabs }) =>
  tabs.flatMap((tab) =>
    (tab.creates ?? []).map((action) => `#/${name}?tab=${tab.name}&do=${action.name}`),
  ),
);

const chromium = findChromium();
if (chromium === null)
  console.log(
    "no Chromium here (apt-get install chromium-headless-shell): the console is not driven",
  );
else
  describe("the console in Chromium", () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await launch(chromium);
    });
    afterAll(() => browser.close());

    const signedIn = async (look: Look) => {
      const tab = await openConsole(browser, service.url, look);
      await signIn(tab.page, service.adminKey);
      return tab;
    };

    test("every page is accessible, light and dark, on a phone and a desktop, and breaks no policy", async () => {
      const all = [...FRAGMENTS, `#/payment/${payment.id}`, ...sized(DIALOGS.slice(0, 2), DIALOGS)];
      for (const look of LOOKS) {
        const { page, complaints } = await signedIn(look);
        for (const [other, fragment] of paired(all, LOOKS)) {
          if (other !== look) continue;
          await show(page, fragment);
          if (fragment.includes("&do=")) await page.getByRole("dialog").waitFor();
          await expectAccessible(page, `${fragment} ${look.theme} ${look.size}`);
        }
        expect(complaints).toEqual([]);
        await page.context().close();
      }
    });

    test("a browser whose language is no language tag shows the overview", async () => {
      const { page, complaints } = await openConsole(browser, service.url, LOOKS[0] as Look);
      await page.addInitScript(() =>
        Object.defineProperty(navigator, "language", { value: "en-US@posix", configurable: true }),
      );
      await page.reload();
      await signIn(page, service.adminKey);
      await page.locator(".chart canvas").first().waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("no page, dialog or opened row shows a name of the API", async () => {
      const document = await (await fetch(`${service.url}/api/v1/openapi.json`)).json();
      const names = collectApiNames(document as ApiDocument);
      expect(findApiNames("a payByTime, QUEUE_DEAD of /api/v1/payment.", names)).toHaveLength(3);
      const { page } = await signedIn(LOOKS[0] as Look);
      const problems: string[] = [];
      for (const fragment of [...FRAGMENTS, `#/payment/${payment.id}`, ...DIALOGS]) {
        await show(page, fragment);
        if (fragment.includes("&do=")) await page.getByRole("dialog").waitFor();
        else {
          const row = page.locator("main button.open").first();
          if ((await row.count()) > 0) {
            await row.click();
            await page.locator(".opened").waitFor();
            await expectAccessible(page, `${fragment}, opened`);
          }
          // What is folded has no text for a reader yet.
          for (const fold of await page.locator("main details:not(.raw)").all())
            await fold.evaluate((element) => element.setAttribute("open", ""));
        }
        const found = findApiNames(await page.locator("body").innerText(), names);
        problems.push(...found.map((name) => `${fragment}: ${name}`));
      }
      expect(problems).toEqual([]);
      await page.context().close();
    });

    test("the palette finds pages and wallets by the keyboard alone", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      await page.keyboard.press("Control+k");
      const palette = page.getByRole("dialog", { name: "Search and go" });
      await palette.getByRole("option", { name: "Overview" }).waitFor();
      await expectAccessible(page, "palette");
      await page.keyboard.type("disputes");
      await palette.getByRole("option", { selected: true, name: "Disputes" }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Disputes" }).waitFor();
      await page.keyboard.press("Control+k");
      await page.keyboard.type("seller-0");
      await palette.getByRole("option", { selected: true, name: "seller-0" }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("region", { name: "seller-0" }).waitFor();
      await page.context().close();
    });

    test("every table fits a desktop, with amounts at the right and no column that is empty", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      const problems: string[] = [];
      for (const fragment of FRAGMENTS) {
        await show(page, fragment);
        const found =
          (await page.evaluate(`[...document.querySelectorAll(".scroll")].flatMap((box) => {
          const cut = box.scrollWidth > box.clientWidth ? ["is cut"] : [];
          const names = [...box.querySelectorAll("th")].slice(1).map((head) => head.textContent);
          const cells = (name) => [...box.querySelectorAll("td")].filter((one) => one.dataset.label === name);
          return [...cut, ...names.filter((name) => cells(name).every((one) => one.textContent === "–"))];
        })`)) as string[];
        problems.push(...found.map((one) => `${fragment}: ${one}`));
      }
      expect(problems).toEqual([]);
      await show(page, "#/payment");
      const amount = page.locator('td[data-label="Amount"]').first();
      expect(await amount.evaluate((one) => getComputedStyle(one).textAlign)).toBe("right");
      await page.context().close();
    });

    test("the overview has a light for each part at once after a reload", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      await page.reload();
      const lights = page.getByRole("list", { name: "State of the service" });
      await lights.waitFor();
      for (const name of ["Chain", "Provider", "Wallets", "Endpoints", "x402", "Storage"])
        expect(await lights.getByText(name).count()).toBe(1);
      await page.context().close();
    });

    test("the overview shows where charts will be while their numbers are read", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      const requests: (() => void)[] = [];
      await page.route("**/payment/count?**", async (route) => {
        await new Promise<void>((go) => requests.push(go));
        await route.continue();
      });
      await page.reload();
      const card = page.locator('.charts [aria-label="Payments"]');
      await card.locator(".waiting").waitFor();
      await expect.poll(() => requests.length).toBeGreaterThan(0);
      const heading = page.getByRole("heading", { name: "Needs a person" });
      const sales = page.locator(".figure", { hasText: "Sales before fees" });
      await sales.locator(".value").first().waitFor();
      await page.getByText("The page x402 counts payments by x402.").waitFor();
      const before = await heading.boundingBox();
      await page.unrouteAll({ behavior: "ignoreErrors" });
      for (const go of requests) go();
      await card.locator(".chart").waitFor();
      expect(await heading.boundingBox()).toEqual(before);
      await page.context().close();
    });

    test("the overview's light of x402 says that it is not set up where there is no EVM network", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      await page.route("**/x402/networks/available", (route) =>
        route.fulfill({ json: { data: { Networks: [] } } }),
      );
      await page.reload();
      const light = page.locator(".light", { hasText: "x402 not set up" });
      await light.waitFor();
      expect(await light.getAttribute("class")).toBe("light none");
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await page.context().close();
    });

    test("the delivery log waits for its only endpoint, and asks nobody to choose it", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      const answer = Promise.withResolvers<void>();
      await page.route("**/webhooks?limit=50", async (route) => {
        await answer.promise;
        await route.continue();
      });
      await page.evaluate("location.hash = '#/webhooks?tab=deliveries'");
      await page.locator("main .reading").waitFor();
      expect(await page.getByText("Choose the endpoint").count()).toBe(0);
      answer.resolve();
      await page.locator('td[data-label="Status"]').first().waitFor();
      await page.locator("main button.open").first().click();
      await page.locator(".opened").getByText("Other fields").click();
      expect(await page.locator(".opened").innerText()).not.toMatch(/[A-Z]+_ON_[A-Z]+/);
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await page.context().close();
    });

    test("a refused invoice's input is still there after its rate was stored", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      await show(page, "#/invoices?do=issue");
      const dialog = page.getByRole("dialog");
      const { buyerWalletVkey, month } = await findUninvoiced();
      await dialog.getByLabel("Month").fill(month);
      const buyer = dialog.getByLabel("Buyer's wallet", { exact: true });
      await buyer.fill(buyerWalletVkey);
      const link = dialog.getByRole("link", { name: "Store rate" });
      await dialog.getByText(/^No rate of .* in EUR is stored for /).waitFor();
      expect(await link.count()).toBe(1);
      for (const who of ["Seller", "Buyer"])
        for (const label of ["Company", "Street", "House number", "Postal code", "City", "Country"])
          await dialog
            .getByRole("group", { name: who })
            .getByLabel(label)
            .fill(label === "Country" ? "Germany" : `${who} ${label}`);
      await dialog.getByRole("button", { name: "Issue invoice" }).click();
      await dialog.getByText(/^No rate in EUR is known .* for ADA/i).waitFor();
      await link.click();
      const rate = page.getByRole("dialog", { name: "Store rate" });
      await rate.waitFor();
      expect(await rate.getByLabel("Month").inputValue()).toBe(month);
      await page.keyboard.press("Escape");
      await rate.waitFor({ state: "detached" });
      await page.getByRole("link", { name: "Go back to Issue invoice" }).click();
      await dialog.getByText("This is what you typed before.").waitFor();
      const shown = new RegExp(`^${buyerWalletVkey.slice(0, 10)}….*, last paid [0-9]`);
      await expect.poll(() => buyer.inputValue()).toMatch(shown);
      const seller = dialog.getByRole("group", { name: "Seller" });
      expect(await seller.getByLabel("Company").inputValue()).toBe("Seller Company");
      await page.keyboard.press("Escape");
      await dialog.getByRole("button", { name: "Discard" }).click();
      await dialog.waitFor({ state: "detached" });
      expect(await page.getByRole("link", { name: "Go back to" }).count()).toBe(0);
      await show(page, "#/invoices?do=issue");
      expect(await buyer.inputValue()).toBe("");
      await page.context().close();
    });

    test("a rate that differs 100 times is stored once it is confirmed, and changed input is confirmed again", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      const dialog = page.getByRole("dialog");
      const rate = dialog.getByLabel("EUR for one ADA", { exact: true });
      const confirmation = dialog.getByLabel("Store it although it differs 100 times");
      const submit = dialog.getByRole("button", { name: "Store rate" });
      const enter = async (text: string) => {
        await show(page, "#/invoices?tab=rates&month=2021-05&do=store");
        await dialog.getByLabel("Month").fill("2021-05");
        await rate.fill(text);
        await dialog.getByLabel("Source").fill("a table");
        await submit.click();
      };
      await enter("0.35");
      await dialog.waitFor({ state: "detached" });
      const row = page.locator("main tbody tr", { hasText: "1 ADA" });
      await row.filter({ hasText: "0.35 EUR" }).waitFor();
      await enter("35");
      await dialog.getByText(/is 100 times the [^;]*\.$/).waitFor();
      await confirmation.check();
      await rate.fill("36");
      await confirmation.waitFor({ state: "detached" });
      await submit.click();
      await confirmation.check();
      await submit.click();
      await row.filter({ hasText: "36 EUR" }).waitFor();
      await page.context().close();
    });

    test("the month of invoices stays from tab to tab, and is that of the rate stored last", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      await show(page, "#/invoices");
      const month = page.locator("main .filter").getByLabel("Month");
      const tabs = page.getByRole("navigation", { name: "Invoices" });
      await month.fill("2021-07");
      await expect.poll(() => page.url()).toContain("month=2021-07");
      for (const tab of ["Not invoiced", "Rates", "Issued", "Not invoiced"]) {
        await tabs.getByRole("link", { name: tab }).click();
        await page.locator(".tabs [aria-current]", { hasText: tab }).waitFor();
        expect(await month.inputValue()).toBe("2021-07");
      }
      await page.locator("main").getByRole("link", { name: "Store rate" }).click();
      const dialog = page.getByRole("dialog", { name: "Store rate" });
      expect(await dialog.getByLabel("Month").inputValue()).toBe("2021-07");
      await dialog.getByLabel("Month").fill("2021-08");
      await dialog.getByLabel("EUR for one ADA").fill("0.4");
      await dialog.getByLabel("Source").fill("a table");
      await dialog.getByRole("button", { name: "Store rate" }).click();
      await page.locator("main tbody tr", { hasText: "0.4 EUR" }).waitFor();
      expect(await month.inputValue()).toBe("2021-08");
      await page.context().close();
    });

    test("a new wallet has the only network of the service, and a new source asks for its own", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      const network = page.getByRole("dialog").getByLabel("Network", { exact: true });
      await show(page, "#/wallets?do=create");
      await expect.poll(() => network.inputValue()).toBe("Preprod");
      await show(page, "#/sources?do=create");
      await page.getByRole("dialog", { name: "Create source" }).waitFor();
      expect(await network.inputValue()).toBe("");
      await page.context().close();
    });

    test("the audit says what was changed, and leads to it", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      await show(page, "#/keys?tab=audit&action=webhook.create");
      const target = page.locator('td[data-label="Target"]').last();
      await expect.poll(() => target.innerText()).toBe("Endpoint Receiver of npm start");
      await target.getByRole("link").click();
      await page.getByRole("region", { name: "Receiver of npm start" }).waitFor();
      await page.context().close();
    });

    test("the audit names keys and wallets, and its key leads to where the key is revoked", async () => {
      const { Wallets } = await api<{ Wallets: { id: string; note: string }[] }>(
        "GET",
        "/wallet/list?limit=1",
      );
      const { token } = await api<{ token: string }>("POST", "/api-key", {
        name: "Changer of rules",
        permission: "Admin",
      });
      const rule = { walletId: Wallets[0]?.id, below: "1000000", upTo: "3000000" };
      await ask({ url: service.url, token }, "POST", "/wallet/top-up", rule);
      const { page } = await signedIn(LOOKS[0] as Look);
      await show(page, "#/keys?tab=audit&action=top-up-rule.create");
      await page.locator("main button.open").first().click();
      const drawer = page.locator(".opened");
      await drawer.locator("dd", { hasText: Wallets[0]?.note ?? "" }).waitFor();
      await drawer.getByRole("link", { name: "Changer of rules" }).click();
      const key = page.getByRole("region", { name: "Changer of rules" });
      const act = async (name: string) => {
        await key.getByRole("button", { name }).click();
        const dialog = page.getByRole("dialog");
        if (name === "Delete") await dialog.getByLabel("I know that this").check();
        await dialog.getByRole("button", { name }).click();
      };
      await act("Revoke");
      await act("Reactivate");
      await act("Delete");
      const row = page.locator("tr", { hasText: "Changer of rules" });
      await row.waitFor({ state: "detached" });
      await page.context().close();
    });

    test("amounts of x402 have whole units, and an explorer shows what a known chain has", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      const open = async (fragment: string) => {
        await show(page, fragment);
        await page.locator("main button.open").first().click();
        await page.locator(".opened").waitFor();
      };
      for (const [tab, cells] of [
        ["payments", { Amount: "0.01 Test Dollar" }],
        ["settlements", { Amount: "0.01 Test Dollar" }],
        ["budgets", { Left: "0.98 Test Dollar", Spent: "0.02 Test Dollar" }],
        ["resources", { Price: "0.01 Test Dollar" }],
      ] as const) {
        await show(page, `#/x402?tab=${tab}`);
        for (const [label, text] of Object.entries(cells))
          await page.locator(`td[data-label="${label}"]`, { hasText: text }).first().waitFor();
      }
      await show(page, "#/x402");
      const totals = page.getByRole("region", { name: "Totals" });
      await totals
        .getByText(/^0.02 Test Dollar received in 2 payments/)
        .first()
        .waitFor();
      await open("#/x402");
      const links = page.locator(".opened a.explore");
      expect(await links.count()).toBe(0);
      await page.route(/\/x402\//, async (route) => {
        const response = await route.fetch();
        const body = (await response.text()).replaceAll("eip155:31337", "eip155:8453");
        await route.fulfill({ response, body });
      });
      await page.reload();
      await open("#/x402?tab=settlements");
      await expect
        .poll(async () => (await links.first().getAttribute("href")) ?? "")
        .toMatch(/^https:[/][/]basescan[.]org[/](tx|address)[/]0x[0-9a-f]+$/);
      await page.unrouteAll({ behavior: "wait" });
      await page.context().close();
    });

    test("a row opens beside its table, which does not move, and the focus returns by Escape", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      await show(page, "#/wallets");
      const opener = page.getByRole("button", { name: "seller-0" });
      const before = await opener.boundingBox();
      await opener.focus();
      await page.keyboard.press("Enter");
      const drawer = page.getByRole("region", { name: "seller-0" });
      await drawer.waitFor();
      expect(await opener.boundingBox()).toEqual(before);
      expect(await drawer.locator("button.final").allTextContents()).toEqual(["Remove"]);
      await expectAccessible(page, "drawer");
      await page.keyboard.press("Tab");
      expect(await drawer.evaluate((one) => one.contains(document.activeElement))).toBe(true);
      await page.keyboard.press("Escape");
      await drawer.waitFor({ state: "detached" });
      expect(await opener.evaluate((one) => one === document.activeElement)).toBe(true);
      await page.context().close();
    });

    test("a phone names the page that is shown, and its menu has every page and tab uncut", async () => {
      const { page } = await signedIn(LOOKS[3] as Look);
      await show(page, "#/x402?tab=resources");
      const menu = page.getByRole("button", { name: "x402", exact: true });
      const links = page.locator("#pages a, .tabs a");
      await menu.click();
      const { width } = page.viewportSize() ?? { width: 0 };
      for (const link of await links.all()) {
        const box = await link.boundingBox();
        expect([(box?.x ?? -1) >= 0, (box?.x ?? 0) + (box?.width ?? width) <= width]).toEqual([
          true,
          true,
        ]);
      }
      await expectAccessible(page, "menu of a phone");
      await page.locator("#pages").getByRole("link", { name: "Webhooks" }).click();
      await page.getByRole("heading", { name: "Webhooks" }).waitFor();
      await page.getByRole("button", { name: "Webhooks", exact: true }).waitFor();
      expect(await links.first().isVisible()).toBe(false);
      await page.context().close();
    });

    test("a phone shows what a wallet does, which is made of several members", async () => {
      const { page } = await signedIn(LOOKS[3] as Look);
      await show(page, "#/wallets");
      await page.locator('td[data-label="Work"]').first().waitFor();
      await page.context().close();
    });

    test("the theme is chosen on a phone too, and stays chosen", async () => {
      const { page } = await signedIn({ theme: "dark", size: "phone" });
      const background = () =>
        page.evaluate("getComputedStyle(document.body).backgroundColor") as Promise<string>;
      const dark = await background();
      const chosen = page.getByLabel("Theme");
      await chosen.selectOption({ label: "Light" });
      await expect.poll(background).not.toBe(dark);
      await page.reload();
      await chosen.waitFor();
      expect([await chosen.inputValue(), (await background()) === dark]).toEqual(["light", false]);
      await expectAccessible(page, "light theme on a dark phone");
      await page.context().close();
    });

    test("a key with a limit is made by the form, which checks it and asks before it is left", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      await show(page, "#/keys?do=create");
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("Of the form");
      await page.keyboard.press("Escape");
      await dialog.getByText("Discard what you typed?").waitFor();
      await dialog.getByRole("button", { name: "Keep editing" }).click();
      await dialog.getByLabel("May pay and change (+PAY)").check();
      await dialog.getByRole("button", { name: "Add limit" }).click();
      await dialog.getByLabel("Amount").fill("50.1234567");
      await dialog.getByLabel("Name").focus();
      await dialog.getByText("with at most 6 decimals").waitFor();
      await dialog.getByLabel("Amount").fill("50");
      await dialog.getByLabel("seller-0").check();
      await dialog.getByRole("button", { name: "Create key" }).click();
      await dialog.getByLabel("I have written it down").check();
      await dialog.getByRole("button", { name: "Close" }).click();
      const row = page.locator("tr", { hasText: "Of the form" });
      await row.locator('td[data-label="Limits"]', { hasText: "50 ADA · 1 wallet" }).waitFor();
      expect(await row.locator('td[data-label="Networks"]').innerText()).toBe("Preprod");
      await page.context().close();
    });

    test("refuses a key that is none, keeps one in the tab, and forgets it on leaving", async () => {
      const { page } = await openConsole(browser, service.url, LOOKS[0] as Look);
      await expectAccessible(page, "sign in");
      await page.getByLabel("API key").fill("no such key");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").getByText("unknown or revoked").waitFor();
      await signIn(page, service.adminKey);
      await page.reload();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      const other = await page.context().newPage();
      await other.goto(`${service.url}/console#/keys`);
      await other.getByLabel("API key").waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("API key").waitFor();
      expect(await page.evaluate("JSON.stringify([sessionStorage, localStorage])")).not.toContain(
        service.adminKey,
      );
      await page.context().close();
    });

    test("shows a change of the chain without a reload, and filters by the URL", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      await show(page, "#/payment");
      await page.locator("tr.fresh").first().waitFor();
      await page.getByLabel("Add filter").selectOption({ label: "State" });
      await page.getByLabel("State", { exact: true }).selectOption("Withdrawn");
      await expect.poll(() => page.url()).toContain("filterOnChainState=Withdrawn");
      const states = page.locator('td[data-label="State"]');
      await expect
        .poll(async () => new Set(await states.allTextContents()))
        .toEqual(new Set(["Paid out"]));
      await page.reload();
      expect(await page.getByLabel("State", { exact: true }).inputValue()).toBe("Withdrawn");
      await page.locator('td[data-label="Agent"] a').first().click();
      await page
        .getByRole("region", { name: "What happens next" })
        .getByText("The escrow is over.")
        .waitFor();
      await page.goBack();
      await states.first().waitFor();
      await page.context().close();
    });

    test("a refused rule leads to the one that exists, and the focus returns to the button of a form", async () => {
      const { Wallets } = await api<{ Wallets: { id: string }[] }>("GET", "/wallet/list?limit=1");
      const walletId = Wallets[0]?.id;
      await api("POST", "/wallet/low-balance", { walletId, thresholdAmount: "1000000" });
      const { page } = await signedIn(LOOKS[0] as Look);
      await show(page, `#/wallets?on=${walletId}`);
      const dialog = page.getByRole("dialog");
      await page.getByRole("button", { name: "Watch balance" }).click();
      await dialog.getByLabel("Below").fill("2");
      await dialog.getByRole("button", { name: "Watch balance" }).click();
      await dialog.getByRole("link", { name: "Change that rule" }).click();
      await page.locator(".tabs [aria-current]", { hasText: "Balance rules" }).waitFor();
      await page.locator("main button.open").click();
      const change = page.locator(".opened").getByRole("button", { name: "Change", exact: true });
      await change.click();
      await dialog.getByLabel("Below").fill("2");
      await dialog.getByRole("button", { name: "Change" }).click();
      await dialog.waitFor({ state: "detached" });
      await page.locator(".opened dd", { hasText: /^2 ADA$/ }).waitFor();
      expect(await change.evaluate((button) => button === document.activeElement)).toBe(true);
      await page.keyboard.press("Escape");
      await page.locator(".opened").waitFor({ state: "detached" });
      await page.context().close();
    });

    test("the list of a combobox is uncut where its form ends below the field", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      await show(page, "#/wallets");
      await page.getByRole("button", { name: "seller-0" }).click();
      await page.getByRole("button", { name: "Fund this wallet" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("From wallet", { exact: true }).click();
      const list = dialog.getByRole("listbox");
      await list.waitFor();
      const isOnTop = await list.evaluate((one) => {
        const { left, top, height } = one.getBoundingClientRect();
        const parts = Array.from({ length: 20 }, (_, i) => top + (height * (i + 0.5)) / 20);
        return parts.every((y) => one.contains(document.elementFromPoint(left + 20, y)));
      });
      expect(isOnTop).toBe(true);
      await dialog.getByRole("option").first().click();
      expect(await dialog.getByLabel("From wallet", { exact: true }).inputValue()).not.toBe("");
      await page.context().close();
    });

    test("a top-up rule without a Funding wallet is warned about before it is made", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      await show(page, "#/wallets");
      await page.getByRole("button", { name: "seller-0" }).click();
      await page.getByRole("button", { name: "Top up automatically" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("The payment source has no Funding wallet.").waitFor();
      await dialog.getByText("In ADA, with at most 6 decimals.").first().waitFor();
      await expectAccessible(page, "top-up");
      await page.context().close();
    });

    test("an endpoint is created, seen at once, tested, disabled and revived; its secret is shown once", async () => {
      const { page } = await signedIn(LOOKS[1] as Look);
      await show(page, "#/webhooks");
      await page.getByRole("button", { name: "Create endpoint" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Create endpoint" }).click();
      await dialog.getByText("URL: is required").waitFor();
      expect(await dialog.getByText("is required").count()).toBe(1);
      expect(await page.evaluate("document.activeElement.name")).toBe("url");
      await dialog.getByLabel("URL").fill("http://127.0.0.1:9/private");
      await dialog.getByLabel("Name").fill(MARKUP);
      await dialog.getByLabel("Service: message given up").check();
      await dialog.getByRole("button", { name: "Create endpoint" }).click();
      await dialog.locator('input[name="url"][aria-invalid="true"]').waitFor();
      const { Webhooks } = await api<{ Webhooks: { url: string }[] }>("GET", "/webhooks");
      await dialog.getByLabel("URL").fill(`${Webhooks[0]?.url}/second`);
      await dialog.getByRole("button", { name: "Create endpoint" }).click();
      expect(await dialog.locator("output.secret").first().textContent()).toMatch(/^whsec_/);
      await page.keyboard.press("Escape");
      expect(await dialog.getByRole("button", { name: "Close" }).isDisabled()).toBe(true);
      await dialog.getByLabel("I have written it down").check();
      await dialog.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: MARKUP }).click();
      await page.getByRole("button", { name: "Send test event" }).click();
      await dialog.getByRole("button", { name: "Send test event" }).click();
      await dialog.getByText("Delivered").waitFor();
      await page.keyboard.press("Escape");
      for (const [action, tag] of [
        ["Disable", "tag calm"],
        ["Revive", "tag good"],
      ] as const) {
        await page.getByRole("button", { name: action }).click();
        await dialog.getByRole("button", { name: action }).click();
        const row = page.locator("tr", { hasText: MARKUP });
        await row.locator(`[class="${tag}"]`).waitFor();
      }
      await page.context().close();
    });

    test("the overview finds an endpoint that was disabled, and leads to where it is revived", async () => {
      await api("POST", "/webhooks", {
        url: gone.url,
        name: "Lost receiver",
        Events: ["PAYMENT_ON_CHAIN_STATUS_CHANGED"],
      });
      const { page } = await signedIn(LOOKS[0] as Look);
      const todo = page.locator(".todo > li", { hasText: "Endpoint Lost receiver was disabled" });
      await todo.getByRole("link", { name: "Revive" }).click();
      const row = page.locator("tr", { hasText: "Lost receiver" });
      await row.locator(".tag.bad", { hasText: "Disabled" }).waitFor();
      await row.locator('td[data-label="Failed or cancelled"]', { hasText: /^[1-9]/ }).waitFor();
      gone.isBack = true;
      await page.getByRole("button", { name: "Revive" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Revive" }).click();
      await page.getByRole("button", { name: "Disable" }).waitFor();
      await page.getByRole("button", { name: "Replay events" }).click();
      const replay = page.getByRole("dialog", { name: "Replay events" });
      const deliveries = replay.getByLabel("Deliveries").locator("option:checked");
      expect(await deliveries.innerText()).toBe("Failed and cancelled");
      await replay.getByRole("button", { name: "Replay events" }).click();
      await replay.locator("dd", { hasText: /^[1-9]\d*$/ }).waitFor();
      await replay.getByRole("button", { name: "Close" }).click();
      await show(page, "#/overview");
      await todo.waitFor({ state: "detached" });
      await page.context().close();
    });

    test("Mainnet, which has nothing yet, is led through its first steps", async () => {
      const { page } = await signedIn(LOOKS[1] as Look);
      await show(page, "#/overview?network=Mainnet");
      const steps = page.getByRole("region", { name: "First steps" });
      expect(await steps.getByRole("listitem").count()).toBe(6);
      await steps.getByRole("link", { name: "Follow a registry" }).click();
      await page.getByRole("dialog", { name: "Add policy" }).waitFor();
      await show(page, "#/overview?network=Mainnet");
      await steps.getByRole("link", { name: "Create a payment source" }).click();
      await page.getByRole("dialog", { name: "Create source" }).waitFor();
      expect(page.url()).toContain("network=Mainnet");
      await expectAccessible(page, "first source");
      await page.context().close();
    });

    test("the first steps ask for no coins that a selling wallet has", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      const wallet = { walletAddress: "addr1seller", network: "Mainnet", Balance: [] as object[] };
      const source = { SellingWallets: [wallet], PurchasingWallets: [] };
      await page.route("**/payment-source-extended?network=Mainnet*", (route) =>
        route.fulfill({ json: { data: { ExtendedPaymentSources: [source] } } }),
      );
      await page.route("**/wallet/list?walletType=Selling*", (route) =>
        route.fulfill({ json: { data: { Wallets: [wallet] } } }),
      );
      await show(page, "#/tasks?network=Mainnet");
      await page.evaluate("location.hash = '#/agents?network=Mainnet'");
      const steps = page.getByRole("region", { name: "First steps" });
      await steps.getByText("addr1seller").waitFor();
      wallet.Balance.push({ unit: "", amount: "5000000" });
      await steps.getByText("✓ Send the native coin to the selling wallet").waitFor();
      expect(await steps.innerText()).not.toContain("addr1seller");
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await page.context().close();
    });

    test("the overview leads from a registry source that lags to its row", async () => {
      const { page } = await signedIn(LOOKS[0] as Look);
      const { sources } = await api<{ sources: object[] }>("GET", "/registry-source");
      const reasons = [{ kind: "SOURCE_STUCK", count: 1 }];
      await page.route("**/health", async (route) => {
        const response = await route.fetch();
        const { data } = (await response.json()) as { data: object };
        await route.fulfill({ json: { data: { ...data, status: "degraded", reasons } } });
      });
      const lagging = { ...sources[0], note: "Lagging policy", error: "The provider failed" };
      await page.route("**/registry-source?*", (route) =>
        route.fulfill({ json: { data: { sources: [lagging] } } }),
      );
      await page.reload();
      const todo = page.locator(".todo > li", { hasText: "source lags" });
      await todo.getByText("A registry source lags: Lagging policy").waitFor();
      expect(await todo.count()).toBe(1);
      await todo.getByRole("link", { name: "Check the source" }).click();
      await page.locator(".tabs [aria-current]", { hasText: "Registry sources" }).waitFor();
      await page.getByRole("region", { name: "Lagging policy" }).waitFor();
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await page.context().close();
    });

    test.each([
      ["Cancel", "button", (dialog) => dialog.getByText("Discard what you typed?")],
      ["Add token", "button", (dialog) => dialog.getByRole("group", { name: "Token 1" })],
      ["The address is right", "text", (dialog) => dialog.getByRole("checkbox", { checked: true })],
    ] as [name: string, kind: string, findAnswer: (dialog: Locator) => Locator][])(
      "one press of %s counts, although the press leaves an invalid field",
      async (name, kind, findAnswer) => {
        const { page } = await signedIn(LOOKS[0] as Look);
        const dialog = page.getByRole("dialog");
        await show(page, "#/wallets");
        await page.getByRole("button", { name: "seller-0" }).click();
        await page.getByRole("button", { name: "Pay from this wallet" }).click();
        await dialog.getByLabel("To address").fill("no address");
        const target =
          kind === "button" ? dialog.getByRole("button", { name }) : dialog.getByText(name);
        const box = await target.boundingBox();
        if (!box) throw new Error(`${name} is not there`);
        // The upper edge leaves the pointer first.
        await page.mouse.move(box.x + box.width / 2, box.y + 2);
        await page.mouse.down();
        await page.evaluate("new Promise((go) => requestAnimationFrame(() => setTimeout(go)))");
        await page.mouse.up();
        await findAnswer(dialog).waitFor();
        await dialog.locator("small.problem").waitFor();
        await page.context().close();
      },
    );

    test("what strangers wrote is text everywhere", async () => {
      const { Wallets } = await api<{ Wallets: { id: string }[] }>("GET", "/wallet/list?limit=1");
      const { sources } = await api<{ sources: { id: string }[] }>("GET", "/registry-source");
      await api("PATCH", "/wallet", { id: Wallets[0]?.id, note: MARKUP });
      await api("PATCH", "/registry-source", { id: sources[0]?.id, note: MARKUP });
      const bots = { url: service.url, token: service.adminKey };
      await createBots(bots);
      const { page, complaints } = await signedIn(LOOKS[0] as Look);
      const expectText = async () => {
        expect(await page.locator("main img, main b, main script, main iframe").count()).toBe(0);
        expect(await page.title()).not.toContain("pwned");
      };
      for (const fragment of ["#/wallets", "#/sources?tab=registry", "#/worker-bots"]) {
        await show(page, fragment);
        await page.getByText(MARKUP).first().waitFor();
        await expectText();
      }
      // Then markup is woven into whatever the service answers: every text of every field has it.
      await page.route(/\/v1\//, async (route) => {
        const response = await route.fetch();
        const type = response.headers()["content-type"] ?? "";
        if (!response.ok() || !type.includes("json")) return route.fulfill({ response });
        await route.fulfill({ response, json: woven(await response.json()) });
      });
      await page.reload();
      for (const fragment of [...FRAGMENTS, `#/payment/${payment.id}`]) {
        await show(page, fragment);
        const first = page.locator("main button.open").first();
        if ((await first.count()) > 0) await first.click();
        await expectText();
      }
      expect(complaints.filter((one) => !one.startsWith("Failed to load resource"))).toEqual([]);
      // The page asks on and on: an answer may be on its way.
      await page.unrouteAll({ behavior: "wait" });
      await page.context().close();
    });
  });

/** A buyer that has no invoice of a month yet. */
async function findUninvoiced(): Promise<{ buyerWalletVkey: string; month: string }> {
  const monthOf = (daysAgo: number) =>
    new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, "2026-11".length);
  for (const month of new Set([monthOf(0), monthOf(2)])) {
    const { UninvoicedPayments } = await api<{ UninvoicedPayments: { buyerWalletVkey: string }[] }>(
      "GET",
      `/invoice/monthly/missing?network=Preprod&month=${month}`,
    );
    const [found] = UninvoicedPayments;
    if (found) return { month, buyerWalletVkey: found.buyerWalletVkey };
  }
  throw new Error("each payment is on an invoice");
}

/** The same with markup behind each of its texts, but for those that a page needs to find its way. */
function woven(value: unknown, name = ""): unknown {
  if (typeof value === "string") return KEPT.test(name) ? value : value + MARKUP;
  if (Array.isArray(value)) return value.map((one) => woven(one, name));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, one]) => [member, woven(one, member)]),
  );
}

/** Amounts, times, and names of the service's own: no stranger writes them. */
const KEPT =
  /^(amount|quantity|.*Amount|gross|net|.*(At|Time|From|Fee)|paymentSourceType|onChainState|requestedAction|network|networkLimit|unit|day|ticker)$/;

/** A bot and its version, whose names are markup. */
async function createBots({ url, token }: { url: string; token: string }): Promise<void> {
  const send = async (path: string, body: object) => {
    const response = await fetch(`${url}/v1/admin/worker-bots${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
  };
  await send("/versions", { id: "v1", name: MARKUP, summary: MARKUP });
  await send("", { name: MARKUP, versionId: "v1" });
}
