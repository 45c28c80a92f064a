import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { app, emptyTables } from "../support/app.ts";
import { type Around, wrapD1 } from "../support/d1.ts";

interface Answer {
  status: number;
  data: { id: string; token: string; [field: string]: unknown };
  message: string | undefined;
}

async function create(
  body: unknown,
  options: { key?: string; token?: string; db?: D1Database } = {},
) {
  const headers: Record<string, string> = { token: options.token ?? env.ADMIN_KEY ?? "" };
  if (options.key) headers["idempotency-key"] = options.key;
  const answer = await app.request(
    "/api/v1/api-key/",
    { method: "POST", body: JSON.stringify(body), headers },
    { ...env, DB: options.db ?? env.DB },
  );
  const json = (await answer.json()) as { data: Answer["data"]; error?: { message: string } };
  return { status: answer.status, data: json.data, message: json.error?.message } satisfies Answer;
}

async function rows(table: "api_key" | "audit" | "idempotency") {
  return (await env.DB.prepare(`SELECT * FROM ${table}`).all<Record<string, unknown>>()).results;
}

beforeEach(emptyTables);

describe("POST /api-key/ 200", () => {
  it("creates a User key without limit when nothing is said", async () => {
    const { status, data } = await create({});
    expect(status).toBe(200);
    expect(data).toEqual({
      id: expect.stringMatching(/^[0-9a-z]{26}$/),
      name: "",
      status: "Active",
      token: expect.stringMatching(/^apk_[0-9a-z]{32}$/),
      permission: "User",
      usageLimited: false,
      maxUsageCredits: 0,
      accumulatedUsageCredits: 0,
      canPay: false,
      networkLimit: ["Preprod", "Mainnet"],
      walletLimit: null,
      spendingLimits: null,
      returnAddresses: [],
      lastUsedAt: null,
    });
  });

  it("creates a key as it was asked for", async () => {
    const { data } = await create({
      name: "Marketplace",
      permission: "User",
      usageLimited: true,
      maxUsageCredits: 500,
      canPay: true,
      networkLimit: ["Preprod", "eip155:8453"],
    });
    expect(data).toMatchObject({
      name: "Marketplace",
      usageLimited: true,
      maxUsageCredits: 500,
      canPay: true,
      networkLimit: ["Preprod", "eip155:8453"],
    });
  });

  it("creates an Admin key that works at once", async () => {
    const { data } = await create({ permission: "Admin", usageLimited: false, maxUsageCredits: 0 });
    expect(data.token).toMatch(/^apk_admin_/);
    expect(data.canPay).toBe(true);
    expect((await create({}, { token: data.token })).status).toBe(200);
  });

  it("writes who created it, and the token nowhere", async () => {
    const { data } = await create({ canPay: true }, { key: "once" });
    const [entry] = await rows("audit");
    expect(entry).toMatchObject({
      api_key_id: "env-admin",
      action: "api-key.create",
      target: data.id,
    });
    for (const table of ["api_key", "audit", "idempotency"] as const)
      expect(JSON.stringify(await rows(table))).not.toContain(data.token);
  });

  it("gives the same token again under the same Idempotency-Key", async () => {
    const first = await create({ canPay: true }, { key: "once" });
    const again = await create({ canPay: true }, { key: "once" });
    expect(again).toEqual(first);
    expect(await rows("api_key")).toHaveLength(1);
  });
});

describe("POST /api-key/ 400", () => {
  it.each([
    [{ permission: "Root" }, "permission: must be one of Admin, User"],
    [{ usageLimited: "true" }, "usageLimited: must be true or false"],
    [{ maxUsageCredits: -1 }, "maxUsageCredits: must be at least 0"],
    [{ maxUsageCredits: 1_000_001 }, "maxUsageCredits: must be at most 1000000"],
    [{ maxUsageCredits: 1.5 }, "maxUsageCredits: must be a whole number"],
    [{ networkLimit: ["Testnet"] }, "networkLimit[0]: must be Preprod, Mainnet or a CAIP-2 id"],
  ])("for %j", async (body, message) => {
    expect(await create(body)).toMatchObject({ status: 400, message });
    expect(await rows("api_key")).toHaveLength(0);
  });
});

/** Fails batches as often as told, after letting them happen or without. */
function failingBatches(times: number, text: string, applied: boolean): D1Database {
  let left = times;
  const around: Around = async (call, run) => {
    if (call.kind !== "batch" || left-- <= 0) return run();
    if (applied) await run().catch(() => {});
    throw new Error(text);
  };
  return wrapD1(env.DB, around);
}

describe("POST /api-key/ when D1 fails", () => {
  const texts = [
    "D1_ERROR: Network connection lost.",
    "D1_ERROR: D1 DB reset because its code was updated.",
    "D1_ERROR: Internal error in D1 DB storage caused object to be reset.",
  ];

  it.each(
    texts.flatMap(
      (text) =>
        [
          [text, true],
          [text, false],
        ] as const,
    ),
  )(
    "with %j (applied: %s) creates exactly one key, and it is the one answered",
    async (text, applied) => {
      for (const key of [undefined, "once"]) {
        await emptyTables();
        const options = { db: failingBatches(1, text, applied), ...(key && { key }) };
        const { status, data } = await create({}, options);
        expect(status).toBe(200);
        expect((await rows("api_key")).map(({ id }) => id)).toEqual([data.id]);
        expect(await rows("audit")).toHaveLength(1);
        expect((await create({}, { token: data.token })).status).toBe(403);
      }
    },
  );

  it("for good, answers 503; the same Idempotency-Key then gives the key that was made", async () => {
    const text = texts[0] ?? "";
    const failed = await create({}, { key: "once", db: failingBatches(9, text, true) });
    expect(failed).toMatchObject({ status: 503, message: "The database is unavailable" });
    const [made] = await rows("api_key");
    const again = await create({}, { key: "once" });
    expect(again.data.id).toBe(made?.id);
    expect(await rows("api_key")).toHaveLength(1);
  });

  it("never answers: 503 within the deadline", async () => {
    const hanging = wrapD1(env.DB, () => new Promise(() => {}));
    const answer = await app.request(
      "/api/v1/api-key",
      { method: "POST", body: "{}", headers: { token: env.ADMIN_KEY ?? "" } },
      { ...env, DB: hanging, REQUEST_DEADLINE_MS: "200" },
    );
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("2");
  });
});
