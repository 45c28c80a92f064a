import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { verifyDueInboxes } from "../../src/inbox/verify-due-inboxes.ts";
import { emptyTables } from "../support/app.ts";
import { countingD1 } from "../support/d1.ts";
import { openInbox, registeredInbox, type ShownInbox } from "../support/registry/inbox.ts";

beforeEach(emptyTables);
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const NOBODY = {
  linkedEmail: null,
  encryptionPublicKey: null,
  encryptionKeyVersion: null,
  signingPublicKey: null,
  signingKeyVersion: null,
};

async function verifiedInbox() {
  const inbox = await registeredInbox();
  const { agentIdentifier } = inbox;
  await inbox.publish({ agentIdentifier, linkedEmail: "a@b.c", encryptionPublicKey: "key-1" });
  await inbox.verify();
  expect(await inbox.diff()).toMatchObject([{ status: "Verified", encryptionPublicKey: "key-1" }]);
  return inbox;
}

describe("lists of inbox registrations", () => {
  it("filter, search and page, and the diff returns every change", async () => {
    const inbox = await openInbox();
    const names = ["Alpha letters", "Beta letters", "Gamma"];
    for (const [i, name] of names.entries())
      await inbox.register({ name, agentSlug: `${inbox.slug}-${i}` });
    await inbox.fixture.settle();
    await inbox.sync();
    const namesOf = (rows: ShownInbox[]) => rows.map(({ name }) => name).sort();
    expect(namesOf(await inbox.listed())).toEqual(names);
    expect(namesOf(await inbox.listed("-search", { query: "LETTERS" }))).toEqual(names.slice(0, 2));
    expect(namesOf(await inbox.listed("-search", { query: "letters%" }))).toEqual([]);
    const bySlug = { filter: { agentSlug: `${inbox.slug} 2`.toUpperCase() } };
    expect(namesOf(await inbox.listed("", bySlug))).toEqual(["Gamma"]);
    expect(await inbox.listed("", { filter: { agentSlug: "!!" } })).toEqual([]);
    expect(await inbox.listed("", { filter: { status: ["Verified"] } })).toEqual([]);
    expect(await inbox.listed("", { filter: { policyId: "ab".repeat(28) } })).toEqual([]);
    const [newest] = await inbox.listed("", { limit: 1 });
    expect(await inbox.listed("", { limit: 2, cursorId: newest?.id })).toHaveLength(2);

    const seen = new Set<string>();
    let point: { statusUpdatedAfter?: string; cursorId?: string } = {};
    for (let page = 0; page < 5; page++) {
      const rows = await inbox.diff({ limit: 1, ...point });
      for (const { id } of rows) seen.add(id);
      const last = rows.at(-1);
      if (last) point = { statusUpdatedAfter: last.statusUpdatedAt, cursorId: last.id };
    }
    expect(seen.size).toBe(3);
  });
});

describe("the chain", () => {
  it("takes a registration back with its block, and brings it again", async () => {
    const inbox = await registeredInbox();
    const { agentIdentifier } = inbox;
    await inbox.publish({ agentIdentifier });
    await inbox.verify();
    const gone = await inbox.fixture.chain.rollback(1);
    await inbox.fixture.chain.mine(2);
    await inbox.sync();
    expect(await inbox.diff()).toMatchObject([{ agentIdentifier, status: "Deregistered" }]);
    const asked = () => inbox.fixture.shown(inbox.id, "/inbox-agents");
    expect(await asked()).toMatchObject({ state: "RegistrationInitiated" });
    await inbox.fixture.chain.replay(gone);
    await inbox.fixture.settle();
    expect(await asked()).toMatchObject({ state: "RegistrationConfirmed", agentIdentifier });
    await inbox.sync();
    expect(await inbox.diff()).toMatchObject([{ agentIdentifier, status: "Pending" }]);
    await inbox.verify();
    expect(await inbox.diff()).toMatchObject([{ status: "Verified" }]);
  });

  it("takes a deregistration back with its block: the registration is verified anew", async () => {
    const inbox = await registeredInbox();
    const { agentIdentifier } = inbox;
    await inbox.publish({ agentIdentifier });
    await inbox.deregister(agentIdentifier);
    await inbox.fixture.settle();
    await inbox.sync();
    expect(await inbox.diff()).toMatchObject([{ status: "Deregistered" }]);
    await inbox.fixture.chain.rollback(1);
    await inbox.fixture.chain.mine(2);
    await inbox.sync();
    await inbox.verify();
    expect(await inbox.diff()).toMatchObject([{ agentIdentifier, status: "Verified" }]);
  });

  it("ends a registration with its burn: nothing that was published stays", async () => {
    const inbox = await verifiedInbox();
    await inbox.deregister(inbox.agentIdentifier);
    await inbox.fixture.settle();
    await inbox.sync();
    expect(await inbox.diff()).toMatchObject([{ status: "Deregistered", ...NOBODY }]);
  });

  it.each([
    ["a slug that is not in its normal form", { agentslug: "Not A Slug" }],
    ["another type", { type: "SomethingElse" }],
    ["no name", { name: "" }],
    ["a version that is no text", { metadata_version: { toString: "x", valueOf: "y" } }],
    [
      "a provider of endless length",
      { provider_url: Array(40).fill("https://example.com/".repeat(3)) },
    ],
    ["a provider with a query", { provider_url: "https://example.com/?a=b" }],
  ])("with a token that has %s changes nothing", async (_, wrong) => {
    const inbox = await openInbox();
    const metadata = {
      type: "MasumiInboxV1",
      name: ["A name"],
      agentslug: "a-slug",
      metadata_version: "1",
      ...wrong,
    };
    await inbox.fixture.chain.act([
      { do: "mint", as: "x", version: "Web3ChainV1", holder: "stranger", metadata },
    ]);
    await inbox.sync();
    expect(await inbox.diff()).toEqual([]);
  });
});

describe("the diff", () => {
  it("tells of a key that an inbox changed, and not of one that it kept", async () => {
    const inbox = await verifiedInbox();
    const [verified] = await inbox.diff();
    await inbox.verify();
    expect(await inbox.diff()).toMatchObject([{ statusUpdatedAt: verified?.statusUpdatedAt }]);
    const { agentIdentifier } = inbox;
    await inbox.publish({ agentIdentifier, linkedEmail: "a@b.c", encryptionPublicKey: "key-2" });
    await inbox.verify();
    const after = new Date(Date.parse(verified?.statusUpdatedAt ?? "") + 1).toISOString();
    expect(await inbox.diff({ statusUpdatedAfter: after })).toMatchObject([
      { status: "Verified", encryptionPublicKey: "key-2" },
    ]);
  });
});

describe("DELETE /registry-source", () => {
  const ofSource = (id: string) => ["DELETE", "/registry-source", { id }] as const;

  it("ends the registrations under its policy with a new stamp", async () => {
    const inbox = await verifiedInbox();
    const [before] = await inbox.diff();
    await inbox.fixture.ask(...ofSource(inbox.source));
    await inbox.sync();
    const [after] = await inbox.diff();
    expect(after).toMatchObject({ id: before?.id, status: "Deregistered", ...NOBODY });
    expect(after && before && after.statusUpdatedAt > before.statusUpdatedAt).toBe(true);
  });

  it("hides them a month later", async () => {
    const inbox = await registeredInbox();
    await inbox.fixture.ask(...ofSource(inbox.source));
    await inbox.sync();
    await env.DB.prepare("UPDATE registry_cursor SET removed_at = removed_at - ?")
      .bind(31 * 24 * 3_600_000)
      .run();
    await inbox.sync();
    expect(await inbox.diff()).toEqual([]);
  });
});

describe("a run of verification", () => {
  /** An inbox, and so many of a stranger's beside it. */
  async function crowded(count: number) {
    const inbox = await registeredInbox("Web3ChainV2");
    const slugs = Array.from({ length: count }, (_, i) => `${inbox.slug}-${i}`);
    for (let i = 0; i < count; i += 30)
      await inbox.fixture.chain.act([
        {
          do: "mintAll",
          version: "Web3ChainV2",
          holder: "stranger",
          tokens: slugs.slice(i, i + 30).map((agentslug) => ({
            metadata: { type: "MasumiInboxV1", name: "n", agentslug, metadata_version: "1" },
          })),
        },
      ]);
    await inbox.sync();
    return inbox;
  }

  it("asks the providers of Mainnet when those of Preprod hang", async () => {
    const inbox = await crowded(30);
    await env.DB.prepare("UPDATE inbox_registration SET network = 'Mainnet' WHERE agent_slug = ?")
      .bind(inbox.slug)
      .run();
    const { now } = Date;
    const asked: string[] = [];
    vi.spyOn(Date, "now").mockImplementation(() => now() + Math.ceil(asked.length / 5) * 15_000);
    // Five at once take all the time that they are given.
    vi.stubGlobal("fetch", async (url: URL) => {
      asked.push(url.pathname);
      throw new Error("no answer");
    });
    await inbox.verify({ INBOX_PROVIDER_URL_MAINNET: env.INBOX_URL });
    expect(asked).toContain(`/${inbox.slug}/public`);
  });

  it("goes on beside a provider that hangs", async () => {
    const inbox = await crowded(19);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let asked = 0;
    vi.stubGlobal("fetch", async () => {
      const nth = ++asked;
      if (nth === 1) await released;
      if (nth === 20) release();
      throw new Error("no answer");
    });
    await inbox.verify();
    expect(asked).toBe(20);
  });

  it("reads the registrations that are due, and no others", async () => {
    const inbox = await crowded(150);
    await env.DB.prepare("UPDATE inbox_registration SET due_at = 9e12 WHERE agent_slug <> ?")
      .bind(inbox.slug)
      .run();
    const { d1, rowsRead } = countingD1(env.DB);
    await verifyDueInboxes(inbox.fixture.env({ DB: d1 }), "test");
    expect(rowsRead()).toBeLessThanOrEqual(20);
  });
});
