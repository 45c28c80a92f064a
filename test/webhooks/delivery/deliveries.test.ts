import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { countingD1 } from "../../support/d1.ts";
import { insertKey } from "../../support/keys.ts";
import { audited, freshPath, happen, WebhookService } from "../../support/webhooks/receivers.ts";

let service: WebhookService;

beforeEach(async () => {
  await emptyTables();
  service = new WebhookService();
});

describe("the delivery log", () => {
  it("pages newest first, and filters by status, kind and time", async () => {
    const { id: webhookId } = await service.create(freshPath());
    const made: string[] = [];
    for (const kind of ["PAYMENT_ON_ERROR", "X402_PAYMENT_FAILED", "PAYMENT_ON_ERROR"] as const)
      made.unshift(...(await happen([kind])));
    await service.settle();
    const log = async (filter: object) =>
      (await service.deliveries(webhookId, filter)).map(({ id }: { id: string }) => id);
    const sorted = [...made].sort().reverse();
    expect(await log({})).toEqual(sorted);
    expect(await log({ limit: "1", cursorId: sorted[0] })).toEqual(sorted.slice(1, 2));
    expect(await log({ event: "X402_PAYMENT_FAILED" })).toEqual([made[1]]);
    expect(await log({ status: "Success" })).toHaveLength(3);
    expect(await log({ status: "Failed" })).toEqual([]);
    const later = new Date(Date.now() + 60_000).toISOString();
    expect(await log({ since: later })).toEqual([]);
    expect(await log({ until: later })).toHaveLength(3);
    expect(await log({ since: "1900-01-01" })).toHaveLength(3);
    expect(await log({ until: "1900-01-01" })).toEqual([]);
  });

  it("is shown of one payment: to Admins of all webhooks, to others of their own, with each attempt", async () => {
    const token = await insertKey({ id: "key-a", canPay: true });
    const own = await service.create(freshPath("?answer=500"), {}, token);
    const other = await service.create(freshPath());
    const about = { recordId: "payment-a" };
    const [first] = await happen(["PAYMENT_ON_CHAIN_STATUS_CHANGED"], about);
    await happen(["PAYMENT_ON_ERROR"], { recordId: "payment-b" });
    await happen(["X402_PAYMENT_FAILED"], about);
    const [last] = await happen(["PAYMENT_ON_ERROR"], about);
    await service.settle();
    const log = async (filter: object = {}, as?: string) =>
      (
        await service.ask("GET", "/deliveries", { ...about, ...filter }, as ? { token: as } : {})
      ).data.Deliveries.map(({ id, webhookId }: Record<string, string>) => [id, webhookId]);
    const places = [last, first].flatMap((id) =>
      [own.id, other.id].sort((a, b) => (a < b ? 1 : -1)).map((webhookId) => [id, webhookId]),
    );
    expect(await log()).toEqual(places);
    for (const [i, [cursorId, cursorWebhookId]] of places.entries())
      expect(await log({ limit: "1", cursorId, cursorWebhookId })).toEqual(
        places.slice(i + 1, i + 2),
      );
    expect(await log({ cursorId: last })).toEqual(places.slice(2));
    expect(await log({}, token)).toEqual(places.filter(([, id]) => id === own.id));
    expect(await log({ event: "PAYMENT_ON_ERROR", webhookId: other.id })).toEqual([
      [last, other.id],
    ]);
    expect(await log({ webhookId: other.id }, token)).toEqual([]);
    expect(await log({ recordId: "payment-c" })).toEqual([]);
    // However many others there are: the delivery, its place in the index and its webhook, read for each.
    await happen(Array(40).fill("PAYMENT_ON_ERROR"));
    await service.wake();
    const { d1, rowsRead } = countingD1(env.DB);
    const counted = new WebhookService({ DB: d1 });
    await counted.ask("GET", "/deliveries", about);
    expect(rowsRead()).toBeLessThanOrEqual(places.length * 4);
    const { message } = await service.ask("GET", "/deliveries");
    expect(message).toBe("webhookId: is required, or recordId");

    const [failed] = await service.deliveries(own.id, { status: "Retrying", ...about });
    expect(failed).toMatchObject({
      recordId: "payment-a",
      AttemptLog: [
        { number: 1, at: failed.lastAttemptAt, responseStatus: 500, error: "answered 500" },
      ],
    });
    for (let again = 0; again < 21; again++) {
      await service.ask("POST", "/deliveries/replay", { webhookId: other.id, id: first });
      await service.drain();
    }
    const [, resent] = await service.deliveries(other.id, about);
    expect(resent.AttemptLog.map(({ number }: { number: number }) => number)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 3),
    );
    expect(resent.AttemptLog.at(-1)).toEqual({
      number: resent.attempts,
      at: resent.lastAttemptAt,
      durationMs: resent.durationMs,
      responseStatus: 200,
      error: null,
    });
    // Of webhooks that are gone there is nothing to show.
    await service.ask("DELETE", "", { webhookId: own.id });
    expect(await log({}, token)).toEqual([]);
  });

  it("is replayed by id, by kind and by time; 404 for an unknown id, 409 for an open one", async () => {
    const { id: webhookId } = await service.create(freshPath());
    const [first] = await happen(["PAYMENT_ON_ERROR", "X402_PAYMENT_FAILED"]);
    await service.settle();
    const replay = (fields: object) =>
      service.ask("POST", "/deliveries/replay", { webhookId, ...fields });
    expect(await replay({ id: first })).toMatchObject({ status: 200, data: { replayed: 1 } });
    expect(await replay({ id: first })).toMatchObject({ status: 409 });
    expect(await replay({ id: "unknown" })).toMatchObject({ status: 404 });
    expect(await replay({})).toMatchObject({ data: { replayed: 0 } });
    await service.drain();
    const span = {
      status: "Success",
      since: new Date(Date.now() - 60_000).toISOString(),
      event: "X402_PAYMENT_FAILED",
    };
    expect(await replay(span)).toMatchObject({ data: { replayed: 1 } });
    expect(await audited()).toContainEqual({
      action: "webhook.replay",
      target: webhookId,
      key: "env-admin",
    });
  });
});
