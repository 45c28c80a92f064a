import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
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
    const span = { status: "Success", since: "1900-01-01", event: "X402_PAYMENT_FAILED" };
    expect(await replay(span)).toMatchObject({ data: { replayed: 1 } });
    expect(await audited()).toContainEqual({
      action: "webhook.replay",
      target: webhookId,
      key: "env-admin",
    });
  });
});
