/**
 * A price API with recorded answers. They have the form that the invoices ask for end-of-month
 * rates: the whole of what the service sees of a public one.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { keepingServer } from "../server/keeping.ts";

/** Answers by coin and day (`DD-MM-YYYY`), cut to the members that matter and a few that do not. */
const RECORDED: Record<string, Record<string, object>> = {
  native: {
    "01-10-2025": {
      id: "native",
      symbol: "ntv",
      localization: { en: "Native" },
      market_data: {
        current_price: { btc: 0, eur: 0.6871234567890123, jpy: 119.17, usd: 0.8065 },
        market_cap: { eur: 24_612_345_678.9 },
      },
    },
  },
  /** What the API says of a day before a coin had a price. */
  young: { "01-10-2025": { id: "young", symbol: "yng" } },
};

export interface PriceSource {
  /**
   * Origin, to which `/api/v3` is the API and `/broken`, `/slow`, `/text` its failures. `/four` is the
   * API too: slow, so it answers once four calls wait, and refuses more than that.
   */
  url: string;
  /** Stops it. */
  close(): Promise<void>;
}

/** How long the calls that wait are counted before they are answered. */
const GATHER_MS = 50;

/** Starts it on a free port. Asked with the key `wrong`, it refuses; the coin `broken` makes it fail. */
export async function startPriceSource(): Promise<PriceSource> {
  const waiting = new Set<() => void>();
  const server = keepingServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (url.pathname.startsWith("/slow")) return;
    const isBusy = url.pathname.startsWith("/four") && !(await oneOfFour(waiting));
    const [, coin = "", day = ""] =
      /^\/(?:api\/v3|four)\/coins\/([^/]+)\/history\?date=([\d-]+)&/.exec(request.url ?? "") ?? [];
    const answer = RECORDED[coin]?.[day];
    const isRefused = request.headers["x-cg-pro-api-key"] === "wrong";
    const isBroken = isBusy || coin === "broken" || url.pathname.startsWith("/broken");
    const status = isBroken ? 500 : isRefused ? 401 : answer ? 200 : 404;
    response.writeHead(url.pathname.startsWith("/text") ? 200 : status, {
      "content-type": "application/json",
    });
    response.end(url.pathname.startsWith("/text") ? "<html>" : JSON.stringify(answer ?? {}));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Waits until there are four; false at once when there were. */
function oneOfFour(waiting: Set<() => void>): Promise<boolean> {
  if (waiting.size === 4) return Promise.resolve(false);
  return new Promise((resolve) => {
    waiting.add(() => resolve(true));
    if (waiting.size < 4) return;
    setTimeout(() => {
      for (const answer of waiting) answer();
      waiting.clear();
    }, GATHER_MS);
  });
}
