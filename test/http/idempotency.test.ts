import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { effects, post, send } from "../support/test-app.ts";

async function auditRows(): Promise<number> {
  const row = await env.DB.prepare("SELECT count(*) AS n FROM audit").first<{ n: number }>();
  return row?.n ?? 0;
}

beforeEach(async () => {
  effects.length = 0;
  await emptyTables();
});

describe("Idempotency-Key", () => {
  it("makes the effect once and gives the same answer again, at either path", async () => {
    const first = await (await post({ name: "a" }, "key-1")).json();
    const headers = { "idempotency-key": "key-1" };
    const body = '{"name":"a"}';
    const again = await send("/things/", { method: "POST", body, headers });
    expect(await again.json()).toEqual(first);
    expect(effects).toHaveLength(1);
    expect(await auditRows()).toBe(1);
  });

  it.each([
    '{ "name" : "a" }',
    '{"note":"","name":"a"}',
    '{"name":"\\u0061","note":""}',
    '{"name":"a","unknown":1}',
  ])("gives the same answer again to the request written as %s", async (body) => {
    const first = await (await post('{"name":"a"}', "key-1")).json();
    expect(await (await post(body, "key-1")).json()).toEqual(first);
    expect(effects).toHaveLength(1);
  });

  it("makes the effect once when both requests come at once", async () => {
    const answers = await Promise.all([1, 2, 3].map(() => post({ name: "a" }, "key-1")));
    const bodies = await Promise.all(answers.map((answer) => answer.json()));
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(await auditRows()).toBe(1);
  });

  it("under another body is refused with 422 and nothing is done", async () => {
    await post({ name: "a" }, "key-1");
    const answer = await post({ name: "b" }, "key-1");
    expect(answer.status).toBe(422);
    expect(effects).toHaveLength(1);
  });

  it("of another API key is another key", async () => {
    await post({ name: "a" }, "key-1");
    await post({ name: "a" }, "key-1", "payer");
    expect(effects).toHaveLength(2);
  });

  it("does not remember an error", async () => {
    expect((await post({ name: "fails" }, "key-1")).status).toBe(409);
    expect((await post({ name: "a" }, "key-1")).status).toBe(200);
  });

  it("is forgotten after 24 hours", async () => {
    await post({ name: "a" }, "key-1");
    await env.DB.prepare("UPDATE idempotency SET created_at = created_at - 86400000").run();
    expect((await post({ name: "b" }, "key-1")).status).toBe(200);
    expect(effects).toHaveLength(2);
  });

  it("is kept with its answer sealed", async () => {
    await post({ name: "topsecret" }, "key-1");
    const row = await env.DB.prepare("SELECT * FROM idempotency").first();
    expect(JSON.stringify(row)).not.toContain("topsecret");
  });

  it.each(["", "k".repeat(256)])("of a wrong length is refused (%#)", async (key) => {
    const answer = await post({ name: "a" }, key);
    expect(answer.status).toBe(400);
    expect(effects).toHaveLength(0);
  });

  it("is optional", async () => {
    await post({ name: "a" });
    await post({ name: "a" });
    expect(effects).toHaveLength(2);
  });
});
