import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import guide from "../../docs/polling.md?raw";
import { app, call, emptyTables } from "../support/app.ts";
import { EntryWriter, registered } from "../support/registry/entries.ts";
import { openInbox } from "../support/registry/inbox.ts";
import { RegistrationFixture } from "../support/registry/registration-fixture.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";

beforeEach(emptyTables);

const answer = await app.request("/api/v1/openapi.json", {}, env);
type Operation = { description?: string; summary: string };
const { paths } = (await answer.json()) as { paths: Record<string, Record<string, Operation>> };
const DIFFS = Object.entries(paths).flatMap(([path, methods]) =>
  path.includes("diff") ? Object.values(methods).map((operation) => ({ path, operation })) : [],
);

describe("the OpenAPI document says of", () => {
  it("eleven diffs", () => {
    expect(DIFFS).toHaveLength(11);
  });

  it.each(DIFFS)("$path that paging needs cursorId, and what comes with limit 1", (diff) => {
    const { path, operation } = diff;
    expect(operation.description).toMatch(/\*\*To page\*\*, send .* and its id as `cursorId`\./);
    expect(operation.description).toContain("`limit` 1, a page has two items while more follow");
    expect(operation.description?.includes("a client with `limit` 1 makes no progress")).toBe(
      !path.startsWith("/api/v1/payment/"),
    );
    const [, stamp = ""] = /last item's `(\w+)`/.exec(operation.description ?? "") ?? [];
    expect(guide).toContain(`\`${stamp}\``);
  });
});

interface Page {
  items: Record<string, string>[];
}

/** Asks for one item at a time, from the stamp of the last one, with its id or without. */
async function oneByOne(
  ask: (since: string, cursorId?: string) => Promise<Page["items"]>,
  stamp: string,
  withCursor: boolean,
): Promise<number[]> {
  const seen = new Set<string>();
  let [since, cursorId]: [string, string | undefined] = ["1970-01-01", undefined];
  const sizes: number[] = [];
  for (let page = 0; page < 4; page++) {
    const items = await ask(since, cursorId);
    for (const { id = "" } of items) seen.add(id);
    sizes.push(seen.size);
    const last = items.at(-1);
    if (!last) break;
    since = last[stamp] ?? "";
    cursorId = withCursor ? last.id : undefined;
  }
  return sizes;
}

async function fill(path: string): Promise<void> {
  if (path.includes("registry-diff")) {
    const writer = await EntryWriter.create();
    for (const name of ["a", "b", "c"]) await writer.write({ [name]: registered(name) });
  } else if (path.includes("registry/diff")) {
    const fixture = await RegistrationFixture.open();
    for (const name of ["A", "B", "C"]) await fixture.register({ name });
  } else if (path.includes("inbox")) {
    const inbox = await openInbox();
    for (const name of ["A", "B", "C"])
      await inbox.register({ name, agentSlug: `${inbox.slug}-${name.toLowerCase()}` });
    await inbox.fixture.settle();
    await inbox.sync();
  } else {
    const writer = await Writer.create(env.DB);
    const side = path.includes("purchase") ? "purchase" : "payment";
    for (let i = 0; i < 3; i++) await writer.change([makeRecord(side)]);
  }
}

/** A diff with `limit` 1. */
async function ask(path: string, since: string, cursorId?: string): Promise<Page["items"]> {
  const common = { network: "Preprod", ...(cursorId !== undefined && { cursorId }) };
  const body = JSON.stringify({ ...common, limit: 1, statusUpdatedAfter: since });
  const query = new URLSearchParams({ ...common, limit: "1", lastUpdate: since });
  const answer = path.includes("/diff")
    ? await call(`${path}?${query}`)
    : await call(path, { method: "POST", body });
  expect(answer.status).toBe(200);
  const { data } = (await answer.json()) as { data: Record<string, Page["items"]> };
  return Object.values(data)[0] ?? [];
}

describe("with limit 1", () => {
  it.each(DIFFS)("$path gets on with cursorId, and without as its text says", async (diff) => {
    const { path, operation } = diff;
    await fill(path);
    const [, stamp = ""] = /last item's `(\w+)`/.exec(operation.description ?? "") ?? [];
    const asked = (since: string, cursorId?: string) => ask(path, since, cursorId);
    // How many of the three a client has seen after each page.
    expect(await oneByOne(asked, stamp, true)).toEqual([1, 2, 3, 3]);
    expect(await oneByOne(asked, stamp, false)).toEqual(
      path.startsWith("/api/v1/payment/") ? [1, 2, 3, 3] : [1, 1, 1, 1],
    );
  });
});
