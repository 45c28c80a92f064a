/**
 * Measures how long an operator waits for the console in Chromium, from the navigation on an empty
 * cache.
 */
import type { Browser } from "playwright-core";
import { findChromium, launch } from "../devnet/client/console.ts";
import { startHost } from "../devnet/host.ts";
import { loadRecords } from "./support/records.ts";
import type { BenchContext } from "./support/service.ts";
import { percentile } from "./support/statistics.ts";
import type { Row } from "./support/table.ts";

const ADMIN_KEY = "a key for the bench, of the console";

/** Elements that end the wait: the first one that shows data of the service. */
const VIEWS = [
  { view: "sign in", fragment: "", data: "form label" },
  { view: "overview", fragment: "#/overview", data: "main .todo li, main p.empty" },
  { view: "payments", fragment: "#/payment", data: "main tbody tr" },
] as const;

/** Milliseconds by which the slower rounds of every first view have shown their data. */
const LIMIT_MS = 1_000;

/** Milliseconds since the navigation began. */
interface Shown {
  content: number;
  data: number;
}

export interface ConsoleTimes {
  rows: Row[];
  /** Views that took longer than their limit. */
  excesses: string[];
}

/**
 * Opens each view many times, the views in turns, each time in a new browser context.
 *
 * @returns null where there is no Chromium
 */
export async function benchConsole({ bundle, quick }: BenchContext): Promise<ConsoleTimes | null> {
  const chromium = findChromium();
  if (chromium === null) return null;
  const [rounds, perSide] = quick ? [3, 100] : [20, 2_000];
  // Through the runtime's own entry, which is what serves static files.
  const host = await startHost({
    bindings: { ADMIN_KEY, API_KEY_SECRET: ADMIN_KEY },
    rateLimits: false,
    bundle,
  });
  try {
    await loadRecords(host.d1, perSide);
    const browser = await launch(chromium);
    try {
      const shown = VIEWS.map((): Shown[] => []);
      for (let round = 0; round < rounds; round++)
        for (const [i, { fragment, data }] of VIEWS.entries())
          shown[i]?.push(await timeView(browser, `${host.url}/console${fragment}`, data));
      const rows = VIEWS.map(({ view }, i) => rowOf(view, shown[i] ?? []));
      const excesses = quick
        ? []
        : rows
            .filter((row) => row["data p95"] > LIMIT_MS)
            .map(({ view, ...row }) => `${view}: data after ${row["data p95"]} ms`);
      return { rows, excesses };
    } finally {
      await browser.close();
    }
  } finally {
    await host.close();
  }
}

/** Opens a view as a browser does that has never been here, but for the key of a tab that was signed in. */
async function timeView(browser: Browser, url: string, data: string): Promise<Shown> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const isSignedIn = url.includes("#");
    await page.addInitScript(
      ({ key, selector }) => {
        if (key !== null) sessionStorage.setItem("key", key);
        const watch = new MutationObserver(() => {
          if (document.querySelector(selector) === null) return;
          watch.disconnect();
          // The next frame shows it; the one after that comes when it is shown.
          requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("data")));
        });
        watch.observe(document, { childList: true, subtree: true });
      },
      { key: isSignedIn ? ADMIN_KEY : null, selector: data },
    );
    await page.goto(url);
    const times = await page.waitForFunction(() => {
      const at = (name: string) => performance.getEntriesByName(name)[0]?.startTime;
      const [content, shown] = [at("first-contentful-paint"), at("data")];
      return content !== undefined && shown !== undefined && { content, data: shown };
    });
    return (await times.jsonValue()) as Shown;
  } finally {
    await context.close();
  }
}

function rowOf(view: string, shown: readonly Shown[]) {
  const at = (name: keyof Shown, share: number) =>
    Math.round(
      percentile(
        shown.map((one) => one[name]),
        share,
      ),
    );
  return {
    ...{ view, rounds: shown.length },
    ...{ "content p50": at("content", 0.5), "content p95": at("content", 0.95) },
    ...{ "data p50": at("data", 0.5), "data p95": at("data", 0.95) },
    limit: LIMIT_MS,
  };
}
