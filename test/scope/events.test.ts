import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { openDb, statement } from "../../src/db/client.ts";
import { ChangeSet } from "../../src/escrow/store/change-set.ts";
import { loadRecords } from "../../src/escrow/store/load-records.ts";
import { writeChanges } from "../../src/escrow/store/write-changes.ts";
import { EVENT_KINDS, type EventKind, SERVICE_EVENT_KINDS } from "../../src/events/event-kinds.ts";
import { checkLowBalances } from "../../src/wallets/rules/low-balance.ts";
import { listTransfers } from "../../src/wallets/transfers/list-transfers.ts";
import { addTopUpEvents } from "../../src/wallets/transfers/top-up-events.ts";
import { checkBalances } from "../../src/x402/wallets/low-balance.ts";
import { found } from "../support/registry/registration-fixture.ts";
import { arrivals, happen } from "../support/webhooks/receivers.ts";
import { findMarkers } from "./answers.ts";
import { type Deployment, openDeployment } from "./deployment/open-deployment.ts";
import { STRANGERS } from "./strangers.ts";

const MINUTE = 60_000;

let deployment: Deployment;

beforeAll(async () => {
  deployment = await openDeployment();
  const { service, resources } = deployment;
  await warn(resources.boughtPurchaseId);
  await openDb(env).batch([
    statement("UPDATE low_balance_rule SET threshold = ?", "9000000000000000"),
    statement(
      "UPDATE transfer SET top_up_wallet_id = ?, wallet_id = ?",
      resources.sellerId,
      resources.fundingId,
    ),
  ]);
  const now = Date.now();
  await checkLowBalances(service.env, "test", now, now + MINUTE);
  await checkBalances(service.env, "test");
  await topUp();
  await happen(SERVICE_EVENT_KINDS, { network: "service" });
  await service.webhooks.settle();
});

/** Has the deadline of a purchase be near. */
async function warn(id: string): Promise<void> {
  const { records } = await loadRecords(openDb(env), [], "SELECT ?2", id);
  const record = found(records, () => true);
  const changes = new ChangeSet([record], Date.now(), 1);
  changes.recordDeadlineWarning(record, { step: "FundsLocking", time: Date.now() + MINUTE }, true);
  const { sourceId, network } = record;
  await openDb(env).batch(writeChanges(changes, { sourceId, network }));
}

/** Has a top-up of the owner's wallet be sent, be confirmed, and fail. */
async function topUp(): Promise<void> {
  const [row] = await listTransfers(openDb(env), { limit: 1 });
  if (!row) throw new Error("there is no transfer");
  const become = (change: object, givenUp: string | null) =>
    addTopUpEvents([{ row, change, task: null, update: null, givenUp }], Date.now()).events;
  await openDb(env).batch([
    ...become({ state: "Sent" }, null),
    ...become({ state: "Confirmed" }, null),
    ...become({ state: "Failed" }, "It failed"),
  ]);
}

/** The bodies that arrived at an endpoint. */
async function readBodies(key: keyof Deployment["endpoints"]): Promise<string[]> {
  return (await arrivals(deployment.endpoints[key].path)).map(({ body }) => body);
}

const listKinds = (bodies: readonly string[]): string[] =>
  [...new Set(bodies.map((body) => JSON.parse(body).event_type as string))].sort();

/** What an Admin's endpoint gets and the owner's does not: of the service, and of the funding wallet. */
const OF_ADMINS: readonly EventKind[] = [
  ...SERVICE_EVENT_KINDS,
  "FUND_DISTRIBUTION_SENT",
  "FUND_DISTRIBUTION_CONFIRMED",
  "FUND_DISTRIBUTION_FAILED",
];

describe("events about the owner's records", () => {
  it("of every kind arrive at an Admin's webhook", async () => {
    expect(listKinds(await readBodies("admin"))).toEqual([...EVENT_KINDS].sort());
  });

  it("of every kind but those of Admins arrive at the owner's webhook", async () => {
    const kinds = EVENT_KINDS.filter((kind) => !OF_ADMINS.includes(kind));
    expect(listKinds(await readBodies("owner"))).toEqual(kinds.sort());
  });

  it.each(STRANGERS)("show nothing of the owner's to the webhook of %s", async (stranger) => {
    const { markers } = deployment;
    const answered = (body: string) => ({ status: 200, body, headers: new Headers() });
    const leaks = (await readBodies(stranger)).flatMap((body) =>
      findMarkers(answered(body), {}, markers, stranger).map((name) => `${name} in ${body}`),
    );
    expect(leaks).toEqual([]);
  });
});
