import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { app, emptyTables } from "../../support/app.ts";
import { wrapD1 } from "../../support/d1.ts";
import { EntryWriter, registered } from "../../support/registry/entries.ts";
import { ask, runJob, type ShownEntry } from "../../support/registry/registry-sync.ts";

beforeEach(async () => {
  await emptyTables();
  await env.SEARCH_DB.batch(
    ["search_position", "search_entry", "search_text"].map((table) =>
      env.SEARCH_DB.prepare(`DELETE FROM ${table}`),
    ),
  );
});

const names = (entries: ShownEntry[]) => entries.map(({ name }) => name);

async function setStatus(status: string, ...agents: string[]): Promise<void> {
  await env.DB.prepare(
    `UPDATE registry_entry SET status = ?
     WHERE doc->>'name' IN (SELECT value FROM json_each(?))`,
  )
    .bind(status, JSON.stringify(agents))
    .run();
}

describe("POST /registry-entry-search", () => {
  let writer: EntryWriter;
  const index = () => runJob({ kind: "search", network: "Preprod" }, "");
  const search = async (query: string, more: object = {}) =>
    names(await ask("/registry-entry-search", { query, ...more }));

  beforeEach(async () => {
    writer = await EntryWriter.create();
    await writer.write({ a: registered("Translator", { tags: ["Übersetzung"] }) });
    await writer.write({
      b: registered("Weather_50%", { description: ['rain "and" sun \u{1f916}ever'] }),
    });
    await setStatus("Online", "Translator", "Weather_50%");
    await index();
  });

  it.each([
    ["a part of a word, whatever its case", "ANSLAT", ["Translator"]],
    ["a tag", "übersetz", ["Translator"]],
    ["white space of any kind", 'rain \t "and"', ["Weather_50%"]],
    ["what would be a wildcard", "50%", ["Weather_50%"]],
    ["two characters", "_5", ["Weather_50%"]],
    ["a wildcard alone", "%", ["Weather_50%"]],
    ["what both have", "answering", ["Weather_50%", "Translator"]],
    ["what would be syntax", '" OR "', []],
    ["something else", "NEAR(rain sun)", []],
    ["what has a control character in it", "and\u0000not", []],
    ["two characters that JavaScript counts as three", "\u{1f916}e", ["Weather_50%"]],
  ])("finds %s", async (_, query, expected) => {
    expect(await search(query)).toEqual(expected);
  });

  it("pages after the cursor, and follows what changes", async () => {
    const [first] = await ask("/registry-entry-search", { query: "answering", limit: 1 });
    expect(first?.name).toBe("Weather_50%");
    expect(await search("answering", { cursorId: first?.id })).toEqual(["Translator"]);
    await writer.write({ a: { ...registered("Translator"), supply: "0" } });
    // The ledger's status counts, even before the index knows it.
    expect(await search("translator")).toEqual([]);
    await index();
    const burned = { filter: { status: ["Deregistered"] } };
    expect(await search("translator", burned)).toEqual(["Translator"]);
    expect(await search("übersetz", burned)).toEqual([]);
  });

  it("filters what it finds as the list does", async () => {
    const tagged = { filter: { tags: ["Übersetzung"] } };
    expect(await search("answering", tagged)).toEqual(["Translator"]);
    expect(await search("answering", { filter: { paymentTypes: ["None"] } })).toEqual([]);
  });

  it("looks through many that a filter leaves out in a few steps", async () => {
    for (let i = 0; i < 400; i += 100)
      await writer.write(
        Object.fromEntries(
          Array.from({ length: 100 }, (_, k) => [`${i + k}`, registered(`Many ${i + k}`)]),
        ),
      );
    while ((await index()) !== null);
    let questions = 0;
    const d1 = wrapD1(env.SEARCH_DB, (_, run) => {
      questions++;
      return run();
    });
    const answer = await app.request(
      "/api/v1/registry-entry-search",
      {
        method: "POST",
        headers: { token: env.ADMIN_KEY ?? "" },
        body: JSON.stringify({
          network: "Preprod",
          query: "many",
          filter: { status: ["Offline"], tags: ["Übersetzung"] },
        }),
      },
      { ...env, SEARCH_DB: d1 },
    );
    expect(await answer.json()).toMatchObject({ data: { entries: [] } });
    expect(questions).toBeLessThanOrEqual(4);
  });

  it("goes on behind agents that have all the text a transaction can hold", async () => {
    const description = Array(220).fill('"'.repeat(60));
    for (let i = 0; i < 100; i += 10)
      await writer.write(
        Object.fromEntries(
          Array.from({ length: 10 }, (_, k) => [`${i + k}`, registered("long", { description })]),
        ),
      );
    await writer.write({ z: registered("Last of all") });
    while ((await index()) !== null);
    expect(await search("last of", { filter: { status: ["Offline"] } })).toEqual(["Last of all"]);
  });

  it("is rebuilt from the ledger when the index is lost", async () => {
    await env.SEARCH_DB.batch(
      ["search_position", "search_entry", "search_text"].map((table) =>
        env.SEARCH_DB.prepare(`DELETE FROM ${table}`),
      ),
    );
    expect(await search("answering")).toEqual([]);
    await index();
    expect(await search("answering")).toEqual(["Weather_50%", "Translator"]);
  });
});
