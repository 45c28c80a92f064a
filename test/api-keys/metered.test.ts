import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { call, emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";

const BODY = JSON.stringify({ network: "Preprod", statusUpdatedAfter: "2024-01-01" });

async function statuses(token: string, calls: number): Promise<Record<number, number>> {
  const answers = await Promise.all(
    Array.from({ length: calls }, () =>
      call("/api/v1/registry-diff", { method: "POST", headers: { token }, body: BODY }),
    ),
  );
  const counts: Record<number, number> = {};
  for (const { status, body } of answers) {
    counts[status] = (counts[status] ?? 0) + 1;
    await body?.cancel();
  }
  return counts;
}

async function used(): Promise<number | null> {
  return env.DB.prepare("SELECT accumulated_usage_credits AS used FROM api_key").first("used");
}

beforeEach(emptyTables);

describe("a metered endpoint, called by a key with a limit", () => {
  it("answers 50 of 200 calls at once when 50 credits are left", async () => {
    const token = await insertKey({ usageLimited: true, maxUsageCredits: 80 });
    await env.DB.prepare("UPDATE api_key SET accumulated_usage_credits = 30").run();
    expect(await statuses(token, 200)).toEqual({ 200: 50, 402: 150 });
    expect(await used()).toBe(80);
  });

  it("answers again once the limit is raised", async () => {
    const token = await insertKey({ id: "key", usageLimited: true, maxUsageCredits: 1 });
    expect(await statuses(token, 2)).toEqual({ 200: 1, 402: 1 });
    await call("/api/v1/api-key", { method: "PATCH", body: '{"id":"key","maxUsageCredits":3}' });
    expect(await statuses(token, 3)).toEqual({ 200: 2, 402: 1 });
  });
});

describe("a metered endpoint, called by a key without a limit", () => {
  it("charges nothing", async () => {
    expect(await statuses(await insertKey({}), 3)).toEqual({ 200: 3 });
    expect(await used()).toBe(0);
  });
});
