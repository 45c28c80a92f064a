import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { openInbox, registeredInbox, type ShownInbox } from "../support/inbox.ts";

beforeEach(emptyTables);

describe("lists of inbox registrations", () => {
  it("filter, search and page, and the diff returns every change", async () => {
    const inbox = await openInbox();
    const names = ["Alpha letters", "Beta letters", "Gamma"];
    for (const [i, name] of names.entries())
      await inbox.register({ name, agentSlug: `${inbox.slug}-${i}` });
    await inbox.desk.settle();
    await inbox.sync();
    const namesOf = (rows: ShownInbox[]) => rows.map(({ name }) => name).sort();
    expect(namesOf(await inbox.listed())).toEqual(names);
    expect(namesOf(await inbox.listed("-search", { query: "LETTERS" }))).toEqual(names.slice(0, 2));
    expect(namesOf(await inbox.listed("-search", { query: "100%" }))).toEqual([]);
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
    const gone = await inbox.desk.chain.rollback(1);
    await inbox.desk.chain.mine(2);
    await inbox.sync();
    expect(await inbox.diff()).toMatchObject([{ agentIdentifier, status: "Deregistered" }]);
    await inbox.desk.chain.replay(gone);
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
    await inbox.desk.settle();
    await inbox.sync();
    expect(await inbox.diff()).toMatchObject([{ status: "Deregistered" }]);
    await inbox.desk.chain.rollback(1);
    await inbox.desk.chain.mine(2);
    await inbox.sync();
    await inbox.verify();
    expect(await inbox.diff()).toMatchObject([{ agentIdentifier, status: "Verified" }]);
  });

  it("ends the registrations of a source that is removed", async () => {
    const inbox = await registeredInbox();
    await env.DB.prepare("UPDATE registry_cursor SET removed_at = 1").run();
    await inbox.verify();
    expect(await inbox.diff()).toMatchObject([{ status: "Deregistered" }]);
  });

  it.each([
    ["a slug that is not in its normal form", { agentslug: "Not A Slug" }],
    ["another type", { type: "SomethingElse" }],
    ["no name", { name: "" }],
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
    await inbox.desk.chain.act([
      { do: "mint", as: "x", version: "Web3ChainV1", holder: "stranger", metadata },
    ]);
    await inbox.sync();
    expect(await inbox.diff()).toEqual([]);
  });
});
