/**
 * Provokes each alarm of docs/monitoring.md once at the running service, with the cron of the
 * platform. It measures the time until an Admin's receiver has the event.
 *
 *     npm run drill:alarms
 *
 * It exits with 1 if an event does not arrive within two minutes.
 */
import { type ApiAccess, ask } from "../client/api.ts";
import { until } from "../client/wait.ts";
import { publishScripts } from "../demo/actors/publish.ts";
import { BUYERS, STRANGER } from "../demo/actors/wallets.ts";
import type { Service } from "../service.ts";
import { runDrill } from "./run-drill.ts";

const CRON_EVERY_MS = 60_000;
const LIMIT_MS = 120_000;
const INBOX = "/alarms";
const GONE = "/gone";
const KINDS = ["SOURCE_STUCK", "WALLET_STUCK", "ENDPOINT_DISABLED", "QUEUE_DEAD"] as const;
type Kind = (typeof KINDS)[number];

/** What causes each alarm. */
const CAUSES: Record<Kind, (service: Service, admin: ApiAccess) => Promise<unknown> | undefined> = {
  /** A receiver is gone for good. What happens for it to be told is the next one's. */
  ENDPOINT_DISABLED: (service, admin) =>
    ask(admin, "POST", "/webhooks", {
      url: `${service.receiver.url}${GONE}?answer=410`,
      Events: ["WALLET_STUCK"],
    }),
  /** A wallet is to pay more than it has. */
  WALLET_STUCK: (_, admin) =>
    ask(admin, "POST", "/wallet/transfer-funds", {
      fromWalletAddress: BUYERS[0].address,
      toAddress: STRANGER.address,
      minorUnitAmount: "9000000000000000",
    }),
  /** A message that no version of the Worker can read. */
  QUEUE_DEAD: ({ host }) => host.send("EVENTS", "unreadable"),
  SOURCE_STUCK({ faults }) {
    faults.add({ status: 500 });
    return undefined;
  },
};

let isLate = false;
console.log("causing four alarms, which takes three minutes");
await runDrill({ cronEveryMs: CRON_EVERY_MS, log: () => undefined }, drill);
process.exitCode = isLate ? 1 : 0;

async function drill(service: Service, admin: ApiAccess): Promise<void> {
  publishScripts(service.chain);
  service.goLive();
  await ask(admin, "POST", "/webhooks", { url: `${service.receiver.url}${INBOX}`, Events: KINDS });
  await until(() => isFollowed(admin), { what: "sources that are followed", limitMs: LIMIT_MS });
  const caused = new Map<Kind, number>();
  for (const kind of ["ENDPOINT_DISABLED", "WALLET_STUCK", "QUEUE_DEAD"] as const) {
    caused.set(kind, Date.now());
    await CAUSES[kind](service, admin);
  }
  const { receiver } = service;
  const isOver = () => receiver.arrivals(GONE).length > 0;
  await Promise.all([
    ...(["WALLET_STUCK", "QUEUE_DEAD"] as const).map((kind) =>
      arrival(service, kind, caused.get(kind) ?? 0),
    ),
    until(isOver, { what: "an event for the receiver that is gone", limitMs: LIMIT_MS }).then(() =>
      arrival(service, "ENDPOINT_DISABLED", Date.now()),
    ),
  ]);
  // Last, since the provider's failure holds up the wallets too.
  const at = Date.now();
  await CAUSES.SOURCE_STUCK(service, admin);
  await arrival(service, "SOURCE_STUCK", at);
}

async function isFollowed(admin: ApiAccess): Promise<boolean> {
  const { sources } = await ask<{ sources: { lastSyncAgeMs: number | null }[] }>(
    admin,
    "GET",
    "/health",
  );
  return sources.every(({ lastSyncAgeMs }) => lastSyncAgeMs !== null);
}

/** Waits for an alarm's event. @param since - when it was caused, epoch milliseconds */
async function arrival({ receiver }: Service, kind: Kind, since: number): Promise<void> {
  const look = () => receiver.arrivals(INBOX).find(({ body }) => JSON.parse(body).type === kind);
  const found = await until(look, { what: kind, limitMs: 2 * LIMIT_MS }).catch(() => null);
  const seconds = found && (found.at - since) / 1000;
  if (seconds === null || seconds * 1000 > LIMIT_MS) isLate = true;
  console.log(`${kind}: ${seconds === null ? "not told" : `told after ${seconds.toFixed(1)} s`}`);
}
