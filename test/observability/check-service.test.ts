/** Each alarm, provoked by what causes it, as Admins' receivers get it. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SERVICE_EVENT_KINDS, type ServiceEventKind } from "../../src/events/event-kinds.ts";
import { checkService } from "../../src/observability/check-service.ts";
import { app, emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { wrapD1 } from "../support/d1.ts";
import { insertRows } from "../support/insert-rows.ts";
import { insertKey } from "../support/keys.ts";
import { createRegistrySource, runJob } from "../support/registry/registry-sync.ts";
import { providerAt, setProviders } from "../support/sources/provider-list.ts";
import { createSource, runPass } from "../support/sources/sync.ts";
import { TransferFixture } from "../support/wallets/transfer-fixture.ts";
import { holdEventsToTheDocument } from "../support/webhooks/declared.ts";
import { arrivals, freshPath, happen, WebhookService } from "../support/webhooks/receivers.ts";

const MINUTE = 60_000;

let service: WebhookService;
let path: string;

holdEventsToTheDocument(SERVICE_EVENT_KINDS);
beforeEach(async () => {
  await emptyTables();
  service = new WebhookService();
  path = freshPath();
  await service.create(path);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** The cron's check, and all deliveries that it causes. @param later - milliseconds */
async function check(later = 0): Promise<void> {
  await checkService(service.env, "test", Date.now() + later);
  await service.settle();
}

interface Told {
  type: ServiceEventKind;
  sequence: number;
  data: Record<string, unknown>;
}

/** What arrived at an Admin's receiver. */
async function told(at = path): Promise<Told[]> {
  return (await arrivals(at)).map(({ body }) => JSON.parse(body) as Told);
}

async function reasons(): Promise<unknown> {
  const answer = await app.request("/api/v1/health", {}, env);
  return ((await answer.json()) as { data: { reasons: unknown } }).data.reasons;
}

const ago = (ms: number) =>
  env.DB.prepare("UPDATE source_cursor SET last_checked_at = ?")
    .bind(Date.now() - ms)
    .run();

describe("SOURCE_STUCK", () => {
  it("tells of a source whose provider fails, once, until it was followed again", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const chain = await TestChain.create();
    const source = await createSource(chain, "Web3ChainV2");
    await runPass(chain, source);
    const dead = { env: { BLOCKFROST_URL_PREPROD: `${chain.url}/nowhere` } };
    await runPass(chain, source, dead);
    await check();
    expect(await told()).toEqual([]);

    await ago(MINUTE);
    await check();
    await check();
    expect(await told()).toMatchObject([
      {
        type: "SOURCE_STUCK",
        sequence: 1,
        data: { sourceId: source, kind: "payment", network: "Preprod", error: expect.any(String) },
      },
    ]);
    expect(await reasons()).toEqual([{ kind: "SOURCE_STUCK", count: 1 }]);

    await runPass(chain, source);
    await check();
    expect(await reasons()).toEqual([]);
    await runPass(chain, source, dead);
    await ago(MINUTE);
    await check();
    expect((await told()).map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  it("is told once by checks that overlap", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const chain = await TestChain.create();
    const source = await createSource(chain);
    await runPass(chain, source, { env: { BLOCKFROST_URL_PREPROD: `${chain.url}/nowhere` } });
    await env.DB.prepare("UPDATE payment_source SET created_at = 1").run();
    await Promise.all([1, 2, 3].map(() => checkService(service.env, "test", Date.now())));
    await service.settle();
    expect(await told()).toHaveLength(1);
  });
});

describe("PROVIDER_OUT", () => {
  it.each(["payment", "registry"] as const)(
    "tells of one of several that fails for half a minute, of a %s source",
    async (kind) => {
      vi.spyOn(console, "warn").mockImplementation(() => {});
      const chain = await TestChain.create();
      const source = await (kind === "payment" ? createSource : createRegistrySource)(chain);
      const table = `${kind}_source` as const;
      await setProviders(source, [providerAt(chain, "mirror")], table);
      const dead = { BLOCKFROST_URL_PREPROD: `${chain.url}/nowhere` };
      if (kind === "payment") await runPass(chain, source, { env: dead });
      else
        await runJob(
          { kind: "sync", network: "Preprod", sourceId: source },
          dead.BLOCKFROST_URL_PREPROD,
        );
      const checkAt = async (delay: number) => {
        await checkService({ ...service.env, ...dead }, "test", Date.now() + delay);
        await service.settle();
      };
      await checkAt(0);
      expect(await told()).toEqual([]);
      await checkAt(MINUTE);
      await checkAt(2 * MINUTE);
      expect(await told()).toMatchObject([
        {
          type: "PROVIDER_OUT",
          data: {
            sourceId: source,
            kind,
            provider: 0,
            use: ["reads"],
            network: "Preprod",
          },
        },
      ]);
      expect(await reasons()).toEqual([{ kind: "PROVIDER_OUT", count: 1 }]);
      await setProviders(source, [], table);
      await checkAt(3 * MINUTE);
      expect(await reasons()).toEqual([]);
    },
  );
});

describe("WALLET_STUCK", () => {
  it("tells of a wallet that cannot pay what it shall", async () => {
    const transfers = await TransferFixture.open({ sellerFunds: [6_000_000] });
    await transfers.sent({ minorUnitAmount: "500000000" });
    await transfers.fixture.work();
    await check();
    expect(await told()).toEqual([]);
    await transfers.fixture.skipPauses();
    await transfers.fixture.work();
    await check();
    const [first, ...others] = await told();
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      type: "WALLET_STUCK",
      data: {
        network: "Preprod",
        walletVkey: transfers.fixture.sellers[0].vkey,
        walletNote: "",
        paymentSourceId: transfers.fixture.sourceId,
        waiting: 1,
        reason: expect.stringMatching(/\S/),
      },
    });
    expect(await reasons()).toEqual([{ kind: "WALLET_STUCK", count: 1 }]);
  });
});

describe("WALLET_STUCK, of locks and steps of escrows,", () => {
  const LONG_AGO = -2 * MINUTE;
  const SOON = MINUTE;
  const short = { type: "InsufficientFunds", note: "the wallet lacks 5 units" };
  const broken = { type: "Unknown", note: "the contract refuses it" };
  it.each([
    ["that lack funds, at once", { step: "FundsLocking" }, short, SOON, short.note],
    ["that failed twice", { step: "SubmitResult", failures: 2 }, broken, SOON, broken.note],
    ["that failed once", { step: "SubmitResult", failures: 1 }, broken, SOON, null],
    [
      "that nobody tries",
      { step: "Withdraw" },
      null,
      LONG_AGO,
      expect.stringContaining("waited for a try"),
    ],
    ["that have their turn soon", { step: "Withdraw" }, null, -MINUTE, null],
    ["that nobody asked for", null, null, LONG_AGO, null],
  ])("tells of those %s: %j", async (_, intent, error, due, reason) => {
    const row = (id: string, vkey: string | null) => ({
      ...{ id, network: "Preprod", identifier_hash: id, source_id: "s" },
      ...{ intent: intent && JSON.stringify(intent), error: error && JSON.stringify(error) },
      ...{ wallet_vkey: vkey, due_at: Date.now() + due },
    });
    await insertRows("escrow", [row("a", "ab"), row("b", "ab"), row("c", null)]);
    await check();
    const found = (await told()).map(({ data }) => data);
    const one = { network: "Preprod", walletNote: null, paymentSourceId: "s", reason };
    expect(found.toSorted((a, b) => Number(b.waiting) - Number(a.waiting))).toEqual(
      reason === null
        ? []
        : [
            { ...one, walletVkey: "ab", waiting: 2 },
            { ...one, walletVkey: null, waiting: 1 },
          ],
    );
  });

  it("leaves a wallet alone that stores one transaction after the other", async () => {
    const now = Date.now();
    const vkey = "ab";
    const overdue = { network: "Preprod", due_at: now + LONG_AGO };
    const intent = '{"step":"SubmitResult"}';
    await insertRows("escrow", [
      { ...overdue, id: "a", identifier_hash: "a", wallet_vkey: vkey, intent },
    ]);
    await insertRows("wallet_task", [
      { ...overdue, feature: "transfer", subject_id: "t", wallet_vkey: vkey },
    ]);
    await insertRows("wallet_transaction", [
      { hash: "aa", network: "Preprod", wallet_vkey: vkey, phase: "Sent", created_at: now },
    ]);
    await check();
    expect(await told()).toEqual([]);
    await env.DB.prepare("UPDATE wallet_transaction SET created_at = 1").run();
    await check();
    expect((await told()).map(({ data }) => data)).toMatchObject([
      { walletVkey: vkey, waiting: 2 },
    ]);
  });
});

describe("WALLET_STUCK, of a task that failed twice,", () => {
  it.each(["transfer", "registration", "reference-script", "dispute"])(
    "names the wallet of a %s",
    async (feature) => {
      const task = { network: "Preprod", wallet_vkey: "ab", source_id: "s", due_at: Date.now() };
      const reason = "the contract refuses it";
      await insertRows("wallet_task", [
        { ...task, feature, subject_id: "a", attempts: 2, reason },
        { ...task, feature, subject_id: "b", attempts: 1, reason },
        { ...task, feature, subject_id: "c", attempts: 2, reason, due_at: null },
      ]);
      await check();
      const wallet = { network: "Preprod", walletVkey: "ab", walletNote: null };
      expect((await told()).map(({ data }) => data)).toEqual([
        { ...wallet, paymentSourceId: "s", waiting: 1, reason },
      ]);
    },
  );
});

describe("WALLET_STUCK, of a task that the provider or the chain delays,", () => {
  it.each(["provider", "chain"])("comes after an hour (%s)", async (reasonCode) => {
    const now = Date.now();
    const task = { feature: "registration", network: "Preprod", wallet_vkey: "ab", source_id: "s" };
    const delayed = { ...task, due_at: now + 30_000, reason_code: reasonCode, reason: "not shown" };
    const requested_at = now - 59 * MINUTE;
    await insertRows("wallet_task", [{ ...delayed, subject_id: "a", requested_at }]);
    await check();
    expect(await told()).toEqual([]);
    await env.DB.prepare("UPDATE wallet_task SET requested_at = requested_at - 60000 * 2").run();
    await check();
    expect((await told()).map(({ data }) => data)).toMatchObject([
      { walletVkey: "ab", waiting: 1, reason: "not shown" },
    ]);
  });
});

describe("WALLET_STUCK, of a wallet that is held up as a whole,", () => {
  it.each([
    ["for five minutes", "funds", "the wallet has no collateral: send some", 5 * MINUTE, 1],
    [
      "for less",
      "chain",
      "waits for blocks: the wallet has too many pending transactions",
      MINUTE,
      0,
    ],
    ["by its provider", "provider", "waits for the chain provider: status 500", 60 * MINUTE, 0],
  ])("tells when that goes on %s: %s", async (_, code, held, since, count) => {
    const blocked_since = Date.now() - since;
    await insertRows("hot_wallet", [
      { network: "Preprod", vkey: "ab", blocker: held, blocker_code: code, blocked_since },
    ]);
    await check();
    expect((await told()).map(({ data }) => data)).toEqual(
      Array(count).fill({
        network: "Preprod",
        walletVkey: "ab",
        walletNote: null,
        paymentSourceId: null,
        waiting: 0,
        reason: held,
      }),
    );
  });
});

describe("ENDPOINT_DISABLED", () => {
  it("tells of a webhook whose receiver is gone, for a day, and not of one that was stopped", async () => {
    const owner = await insertKey({ id: "key-a", canPay: true });
    const { id } = await service.create(freshPath("?answer=410"), { name: "gone" }, owner);
    const stopped = await service.create(freshPath(), {}, owner);
    await service.ask("PATCH", "", { webhookId: stopped.id, isActive: false });
    await happen(["PAYMENT_ON_ERROR"]);
    await service.settle();
    await check();
    expect((await told()).slice(1)).toMatchObject([
      {
        type: "ENDPOINT_DISABLED",
        data: {
          webhookId: id,
          name: "gone",
          apiKeyId: "key-a",
          disabledReason: "the receiver answered 410",
        },
      },
    ]);
    expect(await reasons()).toEqual([{ kind: "ENDPOINT_DISABLED", count: 1 }]);
    await check(24 * 60 * MINUTE);
    expect(await reasons()).toEqual([]);
  });
});

describe("QUEUE_DEAD", () => {
  const QUEUE = "agent-payment-deliveries-dead";
  const die = (messages: number) =>
    service.consume(QUEUE, Array(messages).fill({ v: 1, requestId: "test", endpointId: "gone" }));

  beforeEach(() => {
    vi.spyOn(console, "error").mockImplementation(() => {});
  });

  it("tells of messages that died, once until none has for an hour", async () => {
    await die(2);
    await die(1);
    await service.settle();
    expect(await told()).toMatchObject([
      { type: "QUEUE_DEAD", sequence: 1, data: { queue: QUEUE, messages: 2 } },
    ]);
    await check(50 * MINUTE);
    expect(await reasons()).toEqual([{ kind: "QUEUE_DEAD", count: 1 }]);
    await check(61 * MINUTE);
    expect(await reasons()).toEqual([]);
    await die(1);
    await service.settle();
    expect((await told()).map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  it("tells of them later when the database fails", async () => {
    const DB = wrapD1(env.DB, async () => {
      throw new Error("D1_ERROR: Network connection lost.");
    });
    const result = await new WebhookService({ DB }).consume(QUEUE, [{ v: 1, requestId: "test" }]);
    expect(result.retryBatch).toMatchObject({ retry: true });
    expect(await told()).toEqual([]);
  });
});

it("events of the service itself reach Admins only", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const [admins, others] = [freshPath(), freshPath()];
  const kinds = { Events: ["QUEUE_DEAD"] };
  await service.create(admins, kinds, await insertKey({ permission: "Admin", networkLimit: [] }));
  // As a webhook that an Admin changed for another key, or whose key was an Admin's before.
  const { id } = await service.create(others, {}, await insertKey({ canPay: true }));
  await service.ask("PATCH", "", { webhookId: id, ...kinds });
  await service.consume("x-dead", [{ v: 1, requestId: "test" }]);
  await service.settle();
  expect([(await told(admins)).length, (await told(others)).length]).toEqual([1, 0]);
});

it("a check that finds nothing new writes nothing", async () => {
  const written: string[] = [];
  const DB = wrapD1(env.DB, async ({ sql }, run) => {
    written.push(...sql.filter((one) => !/^\s*select\b/i.test(one)));
    return run();
  });
  await checkService({ ...service.env, DB }, "test", Date.now());
  expect(written).toEqual([]);
});
