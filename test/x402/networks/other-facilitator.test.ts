import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { resolveTo } from "../settle/remote/sdk-facilitator.ts";
import { api, expectOk, X402Fixture } from "../x402-fixture.ts";

interface Network {
  facilitatorUrl: string | null;
  hasFacilitatorAuth: boolean;
  facilitatorWalletId: string | null;
  facilitatorWalletIds: string[];
  canSettle: boolean;
}

const FACILITATOR = "https://facilitator.dev/x402";
const SECRET = "the-secret-of-the-facilitator";

let x402: X402Fixture;
beforeAll(async () => {
  x402 = await X402Fixture.create("84532-other-facilitator");
  await resolveTo(["93.184.215.14"]);
  await resolveTo(["93.184.215.15"], "other.dev");
  await resolveTo(["10.0.0.7"], "private.dev");
  await resolveTo(["93.184.215.14", "::1"], "mixed.dev");
});
beforeEach(async () => {
  await emptyTables();
  await x402.setUp();
});

const save = (change: object) => api<Network>("/x402/networks", { caip2Id: x402.caip2, ...change });
const saved = (change: object) => save(change).then(expectOk);

/** Everything that D1 stores. */
async function kept(): Promise<string> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%cf_%'",
  ).all<{ name: string }>();
  const tables = results.map(({ name }) => env.DB.prepare(`SELECT * FROM "${name}"`));
  return JSON.stringify((await env.DB.batch(tables)).map((table) => table.results));
}

describe("the other facilitator of a network", () => {
  it("takes the place of wallets, and a wallet takes its place", async () => {
    const facilitatorAuth = `Bearer ${SECRET}`;
    expect(await saved({ facilitatorUrl: `${FACILITATOR}/`, facilitatorAuth })).toMatchObject({
      facilitatorUrl: FACILITATOR,
      hasFacilitatorAuth: true,
      facilitatorWalletId: null,
      facilitatorWalletIds: [],
      canSettle: true,
    });
    expect(await saved({ displayName: "Renamed" })).toMatchObject({
      facilitatorUrl: FACILITATOR,
      hasFacilitatorAuth: true,
    });
    const { id } = x402.facilitator;
    expect(await saved({ facilitatorWalletId: id })).toMatchObject({
      facilitatorUrl: null,
      hasFacilitatorAuth: false,
      facilitatorWalletIds: [id],
    });
    await saved({ facilitatorUrl: FACILITATOR });
    expect(await saved({ facilitatorUrl: null })).toMatchObject({
      facilitatorUrl: null,
      facilitatorWalletId: null,
      canSettle: false,
    });
  });

  it("has a header that is sealed, and shown nowhere", async () => {
    const body = { facilitatorUrl: FACILITATOR, facilitatorAuth: `Bearer ${SECRET}` };
    const answer = await save(body);
    const list = await api("/x402/networks");
    const audit = await api("/audit");
    expect(JSON.stringify([answer, list, audit])).not.toContain(SECRET);
    expect(await kept()).not.toContain(SECRET);
    expect(await kept()).toContain(FACILITATOR);
  });

  it("keeps the header within its origin alone", async () => {
    await saved({ facilitatorUrl: FACILITATOR, facilitatorAuth: SECRET });
    const hasAuth = async (change: object) => (await saved(change)).hasFacilitatorAuth;
    expect(await hasAuth({ facilitatorUrl: "https://facilitator.dev/other" })).toBe(true);
    expect(await hasAuth({ facilitatorUrl: "https://other.dev/other" })).toBe(false);
    expect(await hasAuth({ facilitatorAuth: SECRET })).toBe(true);
    expect(await hasAuth({ facilitatorUrl: FACILITATOR, facilitatorAuth: SECRET })).toBe(true);
    expect(await hasAuth({ facilitatorAuth: null })).toBe(false);
  });

  it.each([
    [{ facilitatorUrl: "http://facilitator.dev" }, "must be an https URL"],
    [{ facilitatorUrl: "https://127.0.0.1" }, "public host name"],
    [{ facilitatorUrl: "https://localhost" }, "public host name"],
    [{ facilitatorUrl: "https://[::1]/" }, "public host name"],
    [{ facilitatorUrl: "https://169.254.169.254/latest" }, "public host name"],
    [{ facilitatorUrl: "https://private.dev" }, "public addresses only"],
    [{ facilitatorUrl: "https://mixed.dev" }, "public addresses only"],
    [{ facilitatorUrl: "https://me:secret@facilitator.dev" }, "a user or a password"],
    [{ facilitatorUrl: "https://facilitator.dev:8443" }, "default port"],
    [{ facilitatorUrl: `${FACILITATOR}?key=1` }, "no query"],
    [{ facilitatorUrl: `${FACILITATOR}#one` }, "no query and no fragment"],
    [{ facilitatorAuth: SECRET }, "needs a facilitatorUrl"],
    [{ facilitatorUrl: FACILITATOR, facilitatorAuth: "Bearer\nsecret" }, "printable ASCII"],
  ])("is refused as %j", async (change, message) => {
    const { status, message: said } = await save(change);
    expect([status, said]).toEqual([400, expect.stringContaining(message)]);
    expect(said).not.toContain(SECRET);
  });

  it("is refused beside wallets", async () => {
    const { id } = x402.facilitator;
    for (const wallets of [{ facilitatorWalletId: id }, { facilitatorWalletIds: [id] }])
      expect((await save({ facilitatorUrl: FACILITATOR, ...wallets })).status).toBe(400);
    const none = { facilitatorWalletId: null, facilitatorWalletIds: [] };
    expect((await save({ facilitatorUrl: FACILITATOR, ...none })).status).toBe(200);
  });
});
