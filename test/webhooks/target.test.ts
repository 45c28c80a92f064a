import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { seal } from "../../src/db/sealed.ts";
import { toEndpointEncryptionContext } from "../../src/webhooks/endpoints/open-receiver.ts";
import { emptyTables } from "../support/app.ts";
import { shortenTimeouts } from "../support/crash-at.ts";
import { sampled } from "../support/effort.ts";
import { HOSTILE_RECORDS, HOSTILE_URLS } from "../support/hostile-addresses.ts";
import { freshName, PUBLIC_RECORDS, publicUrl, questionsFor, setName } from "../support/names.ts";
import {
  type Arrival,
  arrivals,
  exhaustRetries,
  freshPath,
  happen,
  idsOf,
  stored,
  WebhookService,
} from "../support/webhooks/receivers.ts";

const KIND = "PAYMENT_ON_ERROR";
const PRIVATE = "must resolve to public addresses only";
const FAILURES = ["servfail", "unavailable", "nonsense", "reset", "hang"] as const;

let service: WebhookService;
/** The host name of the test, and an URL there. */
let name: string;
let url: string;
/** What the service has sent out, to whatever host. */
let received: () => Promise<Arrival[]>;

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
  service = new WebhookService();
  name = freshName();
  url = `https://${name}/hook`;
  received = connectEverything();
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/**
 * Connects every request but those to the resolver to one path of the receiver, whatever its host.
 * The runtime resolves names itself, and a test cannot answer it. So each name leads to this machine,
 * and each request that the service lets through arrives.
 */
function connectEverything(): () => Promise<Arrival[]> {
  const { fetch } = globalThis;
  const path = freshPath();
  const resolver = new URL(env.DNS_OVER_HTTPS_URL ?? "").origin;
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
    const { origin } = new URL(input instanceof Request ? input.url : input);
    const isLocal = origin === resolver || origin === env.RECEIVER_URL;
    return isLocal ? fetch(input, init) : fetch(`${env.RECEIVER_URL}${path}`, init);
  });
  return () => arrivals(path);
}

const create = (fields: object = {}) => service.ask("POST", "", { url, Events: [KIND], ...fields });

/** An endpoint at the test's own name, which is public for as long as that takes. */
async function createPublic(): Promise<string> {
  await setName(name, PUBLIC_RECORDS);
  const { data } = await create();
  return data.id;
}

/** Lets an event happen and everything be done that is due then, and gives its id. */
async function send(): Promise<string | undefined> {
  // Events of one millisecond are in no order.
  vi.setSystemTime(Date.now() + 1);
  const [id] = await happen([KIND]);
  await service.settle();
  return id;
}

/** Expects that neither a creation nor a change takes an URL, and that nothing is written. */
async function expectRefused(
  target: string,
  refusal: object,
  beforehand: () => unknown = () => {},
): Promise<void> {
  const { data } = await create({ url: await publicUrl() });
  await beforehand();
  const before = await stored();
  const headers = { "idempotency-key": "once" };
  const fields = { url: target, Events: [KIND] };
  expect(await service.ask("POST", "", fields, { headers })).toMatchObject(refusal);
  const change = { webhookId: data.id, url: target, name: "changed", isActive: false };
  expect(await service.ask("PATCH", "", change)).toMatchObject(refusal);
  expect(await stored()).toBe(before);
  expect(await received()).toEqual([]);
}

/** Expects that an endpoint is sent neither an event nor a test, and that the log says why. */
async function expectNotSent(webhookId: string, error: unknown): Promise<void> {
  const before = await received();
  const id = await send();
  const [delivery] = await service.deliveries(webhookId);
  expect(delivery).toMatchObject({
    id,
    status: "Retrying",
    attempts: 1,
    responseStatus: null,
    error,
  });
  expect(await service.ask("POST", "/test", { webhookId })).toMatchObject({
    data: { success: false, responseCode: null, errorMessage: error },
  });
  expect(await received()).toEqual(before);
}

// As https, since the scheme alone would give them away.
describe.each(sampled(6, HOSTILE_URLS).map((hostile) => hostile.replace(/^http:/, "https:")))(
  "the URL %s",
  (hostile) => {
    it("is 400 by POST and by PATCH", async () => {
      await expectRefused(hostile, { status: 400, message: expect.stringMatching(/^url: /) });
    });

    it("is not sent to, if it is stored all the same", async () => {
      const webhookId = await createPublic();
      await env.DB.prepare("UPDATE webhook_endpoint SET url = ?")
        .bind(await seal(env, toEndpointEncryptionContext(webhookId, "url"), hostile))
        .run();
      await expectNotSent(webhookId, expect.stringMatching(/^must /));
    });
  },
);

describe.each(sampled(6, HOSTILE_RECORDS))("a name that resolves to %s", (records) => {
  it("is 400 by POST and by PATCH", async () => {
    await setName(name, records.split(","));
    await expectRefused(url, { status: 400, message: `url: ${PRIVATE}` });
  });

  it("since it was checked is not sent to", async () => {
    const webhookId = await createPublic();
    await send();
    expect(await received()).toHaveLength(1);
    await setName(name, records.split(","));
    await expectNotSent(webhookId, PRIVATE);
  });
});

describe.each([
  ["does not exist", null],
  ["has no address", []],
  ["is an alias of nothing", ["alias.example.com."]],
])("a name that %s", (_, answer) => {
  it("is 400 by POST and by PATCH", async () => {
    await setName(name, answer);
    await expectRefused(url, { status: 400, message: "url: the host name has no address" });
  });

  it("since it was checked is not sent to", async () => {
    const webhookId = await createPublic();
    await setName(name, answer);
    await expectNotSent(webhookId, "the host name has no address");
  });
});

describe.each(FAILURES)("a resolver that fails (%s)", (failure) => {
  const MESSAGE = "the name resolver did not answer";

  const fail = async () => {
    await setName(name, failure);
    // Of a delivery, of a question to the resolver, of a test.
    return shortenTimeouts([2_000, 5_000, 7_000]);
  };

  it("makes POST and PATCH 503, to be asked again", async () => {
    await expectRefused(url, { status: 503, message: `url: ${MESSAGE}`, retryAfter: "5" }, fail);
  });

  it("holds a delivery back until it answers again", async () => {
    const webhookId = await createPublic();
    const beAsBefore = await fail();
    await expectNotSent(webhookId, MESSAGE);
    beAsBefore();
    await setName(name, PUBLIC_RECORDS);
    await service.pass(60_000);
    expect(await received()).toHaveLength(1);
    expect(await service.deliveries(webhookId)).toMatchObject([
      { status: "Success", attempts: 2, error: null },
    ]);
  });
});

describe("a name that resolves to public addresses only", () => {
  it.each([
    ["of IPv4", ["93.184.215.14"]],
    ["of IPv6", ["2606:4700::1111"]],
    ["by an alias", ["alias.example.com.", "93.184.215.14"]],
    ["of which there are many", Array.from({ length: 70 }, (_, i) => `93.184.215.${i}`)],
  ])("%s is taken by POST and by PATCH, and sent to", async (_, records) => {
    await setName(name, records);
    const { status, data } = await create();
    expect(status).toBe(200);
    const change = { webhookId: data.id, url: `${url}/other` };
    expect(await service.ask("PATCH", "", change)).toMatchObject({
      status: 200,
      data: { url: change.url },
    });
    const id = await send();
    expect(idsOf(await received())).toEqual([id]);
  });
});

describe("a name that moves to a private address between creation, update and send", () => {
  it("is asked for each time, is not sent to for as long, and gets the event when it is back", async () => {
    const webhookId = await createPublic();
    // A name is two questions: one for each kind of address.
    expect(await questionsFor(name)).toBe(2);
    const first = await send();
    expect(await questionsFor(name)).toBe(4);

    await setName(name, ["127.0.0.1"]);
    const before = await stored();
    const change = { webhookId, url: `${url}/other`, name: "changed" };
    expect(await service.ask("PATCH", "", change)).toMatchObject({
      status: 400,
      message: `url: ${PRIVATE}`,
    });
    expect(await stored()).toBe(before);
    expect(await questionsFor(name)).toBe(6);

    const second = await send();
    for (const attempts of [1, 2]) {
      const [delivery] = await service.deliveries(webhookId);
      expect(delivery).toMatchObject({ id: second, status: "Retrying", attempts, error: PRIVATE });
      expect(await questionsFor(name)).toBe(6 + 2 * attempts);
      expect(idsOf(await received())).toEqual([first]);
      if (attempts === 2) await setName(name, PUBLIC_RECORDS);
      // The cron finds it a grace of half a minute after it was due.
      await service.pass(Date.parse(delivery.nextAttemptAt) - Date.now() + 31_000);
    }
    expect(idsOf(await received())).toEqual([first, second]);
    expect(await service.deliveries(webhookId)).toMatchObject([
      { id: second, status: "Success", attempts: 3, error: null },
      { id: first, status: "Success", attempts: 1 },
    ]);
  });

  it("keeps the answer to a POST that is sent again under its Idempotency-Key", async () => {
    await setName(name, PUBLIC_RECORDS);
    const fields = { url, Events: [KIND] };
    const again = () => service.ask("POST", "", fields, { headers: { "idempotency-key": "once" } });
    const first = await again();
    expect(first.status).toBe(200);
    for (const moved of [["127.0.0.1"], "unavailable"]) {
      await setName(name, moved);
      expect(await again()).toEqual(first);
    }
  });

  it("for good is a failure of the endpoint like any other", async () => {
    const webhookId = await createPublic();
    await setName(name, ["10.0.0.1"]);
    await happen([KIND]);
    await service.wake();
    await exhaustRetries();
    await service.drain();
    expect(await service.deliveries(webhookId)).toMatchObject([
      { status: "Failed", attempts: 1, responseStatus: null, error: PRIVATE, nextAttemptAt: null },
    ]);
    expect(await service.listed(webhookId)).toMatchObject({ failureCount: 1 });
    expect(await received()).toEqual([]);
  });
});
