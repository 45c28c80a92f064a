import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { insertKey } from "../support/keys.ts";
import { openInbox, registeredInbox } from "../support/registry/inbox.ts";
import type { ShownRegistration } from "../support/registry/registration-fixture.ts";

beforeEach(emptyTables);

/** What a check of a registration writes. */
const INBOX_UPDATE = /^update "inbox_registration"/;

const NOBODY = {
  linkedEmail: null,
  encryptionPublicKey: null,
  encryptionKeyVersion: null,
  signingPublicKey: null,
  signingKeyVersion: null,
};

describe.each(["Web3ChainV1", "Web3ChainV2"] as const)("an inbox agent of %s", (type) => {
  it("is registered, verified, found wrong, refreshed, deregistered and gone", async () => {
    const inbox = await openInbox(type);
    const asked = await inbox.register();
    expect(asked).toMatchObject({
      status: 200,
      data: { state: "RegistrationRequested", agentSlug: inbox.slug, metadataVersion: 1 },
    });
    const { id } = asked.data;
    await inbox.fixture.settle();
    const shown = () => inbox.fixture.shown(id, "/inbox-agents");
    const { agentIdentifier } = await shown();
    expect(await shown()).toMatchObject({ state: "RegistrationConfirmed", error: null });

    await inbox.sync();
    expect(await inbox.listed()).toMatchObject([
      {
        agentIdentifier,
        status: "Pending",
        name: "An inbox",
        description: "Takes letters",
        ...NOBODY,
      },
    ]);

    await inbox.publish({ agentIdentifier: "another agent's" });
    await inbox.verify();
    expect(await inbox.diff()).toMatchObject([{ status: "Invalid", ...NOBODY }]);
    // What is invalid is not asked again on its own.
    const key = { kty: "OKP", x: "abc", crv: "X25519" };
    await inbox.publish({
      agentIdentifier,
      linkedEmail: "inbox@example.com",
      encryptionPublicKey: key,
      encryptionKeyVersion: "enc-1",
      signingPublicKey: "text key",
      signingKeyVersion: "sig-1",
    });
    await inbox.verify();
    expect(await inbox.diff()).toMatchObject([{ status: "Invalid" }]);

    const before = (await inbox.diff())[0]?.statusUpdatedAt ?? "";
    const refreshed = await inbox.refresh(agentIdentifier);
    expect(refreshed).toMatchObject({
      status: "Verified",
      linkedEmail: "inbox@example.com",
      encryptionPublicKey: '{"crv":"X25519","kty":"OKP","x":"abc"}',
      encryptionKeyVersion: "enc-1",
      signingPublicKey: "text key",
      signingKeyVersion: "sig-1",
      providerUrl: env.INBOX_URL,
    });
    // Invalid to Pending and Pending to Verified are a stamp each.
    expect(Date.parse(refreshed.statusUpdatedAt ?? "")).toBeGreaterThan(Date.parse(before) + 1);

    expect(await inbox.deregister(agentIdentifier)).toMatchObject({
      status: 200,
      data: { id, state: "DeregistrationRequested" },
    });
    await inbox.fixture.settle();
    expect(await shown()).toMatchObject({ state: "DeregistrationConfirmed" });
    await inbox.sync();
    expect(await inbox.diff()).toMatchObject([{ agentIdentifier, status: "Deregistered" }]);
    expect(await inbox.listed()).toEqual([]);
    expect(await inbox.refresh(agentIdentifier)).toMatchObject({ status: "Deregistered" });
    expect(await inbox.fixture.tokens()).toEqual({ minted: 1, burned: 1, held: [] });

    expect((await inbox.fixture.ask("DELETE", "/inbox-agents", { id })).status).toBe(200);
    expect((await inbox.fixture.ask("DELETE", "/inbox-agents", { id })).status).toBe(404);
  });
});

/** A registered inbox, and a key with so many credits. */
async function limited(maxUsageCredits = 1) {
  const id = "key-limited";
  const token = await insertKey({ id, usageLimited: true, maxUsageCredits });
  const used = () =>
    env.DB.prepare("SELECT accumulated_usage_credits FROM api_key WHERE id = ?")
      .bind(id)
      .first("accumulated_usage_credits");
  return { inbox: await registeredInbox(), token, used };
}

describe("POST /inbox-agent-registration-refresh/", () => {
  it("answers Pending when the provider of an invalid registration does not answer", async () => {
    const inbox = await registeredInbox();
    await inbox.publish({ agentIdentifier: "other" });
    await inbox.verify();
    await inbox.publish({}, 502);
    expect(await inbox.refresh(inbox.agentIdentifier)).toMatchObject({
      status: "Pending",
      ...NOBODY,
    });
  });

  it("keeps what is verified while the provider fails, and takes it back when it says so", async () => {
    const inbox = await registeredInbox();
    const { agentIdentifier } = inbox;
    await inbox.publish({ pages: [{ agentIdentifier: [agentIdentifier], linkedEmail: "a@b.c" }] });
    expect(await inbox.refresh(agentIdentifier)).toMatchObject({ status: "Verified" });
    for (const [page, status] of [
      [{}, 500],
      ["not an object", 200],
    ] as const) {
      await inbox.publish(page as object, status);
      const { status: now, linkedEmail } = await inbox.refresh(agentIdentifier);
      if (status === 500)
        expect({ now, linkedEmail }).toEqual({ now: "Verified", linkedEmail: "a@b.c" });
      else expect({ now, linkedEmail }).toEqual({ now: "Pending", linkedEmail: null });
    }
  });

  it("takes keys only from the object that names the agent", async () => {
    const inbox = await registeredInbox();
    const { agentIdentifier } = inbox;
    await inbox.publish({
      linkedEmail: "stranger@example.com",
      inner: { masumiAgentIdentifier: agentIdentifier, signingPublicKey: "mine" },
      other: { agentIdentifier: "another", encryptionPublicKey: "not mine" },
    });
    expect(await inbox.refresh(agentIdentifier)).toMatchObject({
      status: "Verified",
      linkedEmail: null,
      signingPublicKey: "mine",
      encryptionPublicKey: null,
    });
  });

  it("takes no key that nests thousands of levels deep, and the rest all the same", async () => {
    const inbox = await registeredInbox();
    const { agentIdentifier } = inbox;
    const deep = `${'{"x":'.repeat(8000)}1${"}".repeat(8000)}`;
    await inbox.publish({ agentIdentifier, signingPublicKey: "mine", encryptionPublicKey: "@" });
    const { fetch } = globalThis;
    vi.stubGlobal("fetch", async (...args: Parameters<typeof fetch>) => {
      const page = await (await fetch(...args)).text();
      return new Response(page.replace('"@"', deep));
    });
    const refreshed = await inbox.refresh(agentIdentifier);
    vi.unstubAllGlobals();
    expect(refreshed).toMatchObject({
      code: 200,
      status: "Verified",
      signingPublicKey: "mine",
      encryptionPublicKey: null,
    });
  });

  it("costs a credit, and none for a registration that does not exist", async () => {
    const inbox = await registeredInbox();
    await inbox.publish({ agentIdentifier: inbox.agentIdentifier });
    const token = await insertKey({ usageLimited: true, maxUsageCredits: 1 });
    const fixture = inbox.fixture;
    const unknown = await fixture.ask(
      "POST",
      "/inbox-agent-registration-refresh",
      { network: "Preprod", agentIdentifier: "ab".repeat(60) },
      { token },
    );
    expect(unknown.status).toBe(404);
    expect(await inbox.refresh(inbox.agentIdentifier, { token })).toMatchObject({
      status: "Verified",
    });
    expect((await inbox.refresh(inbox.agentIdentifier, { token })).code).toBe(402);
  });

  it("charges parallel refreshes of one registration one credit each, before it asks the provider", async () => {
    const { inbox, token, used } = await limited(3);
    await inbox.publish({ agentIdentifier: inbox.agentIdentifier });
    const { fetch } = globalThis;
    let asked = 0;
    vi.stubGlobal("fetch", (...args: Parameters<typeof fetch>) => {
      if (String(args[0]).startsWith(env.INBOX_URL)) asked++;
      return fetch(...args);
    });
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => inbox.refresh(inbox.agentIdentifier, { token })),
    );
    vi.unstubAllGlobals();
    const codes = answers.map(({ code }) => code).sort();
    expect(codes).toEqual([...Array(3).fill(200), ...Array(47).fill(402)]);
    expect([await used(), asked]).toEqual([3, 3]);
  });

  it("charges the credit also when the provider does not answer", async () => {
    const { inbox, token, used } = await limited();
    await inbox.publish({}, 502);
    expect(await inbox.refresh(inbox.agentIdentifier, { token })).toMatchObject({
      code: 200,
      status: "Pending",
    });
    expect(await used()).toBe(1);
  });

  it("returns no credit that it did not charge, as when the key's limit has just been removed", async () => {
    const { inbox, token, used } = await limited();
    const headers = { token };
    await inbox.fixture.ask("GET", "/api-key-status", null, headers);
    // From here on the key is remembered; somewhere else it is changed.
    await env.DB.prepare(
      "UPDATE api_key SET usage_limited = 0, accumulated_usage_credits = 1 WHERE id = 'key-limited'",
    ).run();
    inbox.fixture.bindings.DB = wrapD1(env.DB, (call, run) => {
      if (call.sql.some((one) => INBOX_UPDATE.test(one)))
        throw new Error("D1_ERROR: D1 DB is overloaded. Too many requests queued.");
      return run();
    });
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    expect((await inbox.refresh(inbox.agentIdentifier, headers)).code).toBe(503);
    error.mockRestore();
    expect(await used()).toBe(1);
  });

  it.each(["Pending", "Invalid"])(
    "costs nothing when it fails on one that is %s",
    async (status) => {
      const { inbox, token, used } = await limited();
      await inbox.publish({ agentIdentifier: status === "Invalid" ? "other" : null });
      await inbox.verify();
      expect(await inbox.diff()).toMatchObject([{ status }]);
      const [before] = await inbox.diff();
      inbox.fixture.bindings.DB = wrapD1(env.DB, (call, run) => {
        if (call.sql.some((one) => INBOX_UPDATE.test(one)))
          throw new Error("D1_ERROR: D1 DB is overloaded. Too many requests queued.");
        return run();
      });
      const error = vi.spyOn(console, "error").mockImplementation(() => {});
      expect((await inbox.refresh(inbox.agentIdentifier, { token })).code).toBe(503);
      error.mockRestore();
      expect(await used()).toBe(0);
      expect(await inbox.diff()).toEqual([before]);
    },
  );

  it("costs one credit when the answer of the database is lost and it is asked again", async () => {
    const { inbox, token, used } = await limited();
    let lost = false;
    inbox.fixture.bindings.DB = wrapD1(env.DB, async (call, run) => {
      const result = await run();
      if (lost || !call.sql.some((one) => INBOX_UPDATE.test(one))) return result;
      lost = true;
      throw new Error("D1_ERROR: Network connection lost.");
    });
    expect((await inbox.refresh(inbox.agentIdentifier, { token })).code).toBe(200);
    expect([lost, await used()]).toEqual([true, 1]);
  });

  it("leaves an invalid one as it is when the key has no credits left", async () => {
    const { inbox, token, used } = await limited(0);
    await inbox.publish({ agentIdentifier: "other" });
    await inbox.verify();
    const before = await inbox.diff();
    expect((await inbox.refresh(inbox.agentIdentifier, { token })).code).toBe(402);
    expect(await inbox.diff()).toEqual(before);
    expect(await used()).toBe(0);
  });

  it("costs nothing for one that is deregistered", async () => {
    const { inbox, token, used } = await limited();
    await inbox.deregister(inbox.agentIdentifier);
    await inbox.fixture.settle();
    await inbox.sync();
    expect(await inbox.refresh(inbox.agentIdentifier, { token })).toMatchObject({
      code: 200,
      status: "Deregistered",
    });
    expect(await used()).toBe(0);
  });
});

describe("POST /inbox-agents", () => {
  it.each([
    ["Ünïcode Inbox", "unicode-inbox"],
    ["two--hyphens", "two-hyphens"],
    ["robots-txt", "reserved"],
    ["---", "letters or digits"],
  ])("refuses the slug %s and says why", async (agentSlug, reason) => {
    const inbox = await openInbox();
    const answer = await inbox.register({ agentSlug });
    expect(answer).toMatchObject({ status: 400, message: expect.stringContaining(reason) });
    expect(answer.message).toMatch(/^agentSlug: /);
  });

  it("is the same as POST /registry-inbox", async () => {
    const inbox = await openInbox();
    const { id } = (await inbox.register()).data;
    const { data } = await inbox.fixture.ask<{ Assets: ShownRegistration[] }>(
      "GET",
      "/registry-inbox?network=Preprod",
    );
    expect(data.Assets.map((one) => one.id)).toEqual([id]);
  });
});

describe("POST /inbox-agents/deregister", () => {
  it("answers 403 to the key of somebody else and 409 in other states", async () => {
    const inbox = await openInbox();
    const owner = { token: await insertKey({ canPay: true }) };
    const other = { token: await insertKey({ canPay: true }) };
    const { id } = (await inbox.register({}, owner)).data;
    expect((await inbox.fixture.ask("DELETE", "/inbox-agents", { id })).status).toBe(409);
    await inbox.fixture.settle();
    const { agentIdentifier } = await inbox.fixture.shown(id, "/inbox-agents");
    expect((await inbox.deregister(agentIdentifier, other)).status).toBe(403);
    expect((await inbox.deregister(agentIdentifier, owner)).status).toBe(200);
    expect((await inbox.deregister(agentIdentifier, owner)).status).toBe(409);
    // An agent's endpoint does not know inbox agents, nor removes them.
    expect((await inbox.fixture.deregister(agentIdentifier)).status).toBe(404);
    expect((await inbox.fixture.ask("DELETE", "/registry", { id })).status).toBe(404);
  });
});
