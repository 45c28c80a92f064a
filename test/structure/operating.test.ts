import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { LOG_EVENTS } from "../../src/log-events.ts";
import { withTable } from "../../tools/docs/tables.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const guide = read("docs/operating.md");
const envType = read("src/env.ts");
const configuration = read("wrangler.toml");

const commands = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block).join("\n");

/** Values of `key = "…"` in the tables of wrangler.toml with one of the names. */
function configured(table: RegExp, key: string): string[] {
  return configuration
    .split(/^(?=\[)/m)
    .filter((part) => table.test(part))
    .flatMap((part) => [...part.matchAll(new RegExp(`^${key} = "([^"]+)"`, "gm"))])
    .flatMap(([, value]) => value ?? []);
}

/** Members of `Env`, with what stands above them. */
const members = [
  ...(/interface Env \{([\s\S]*?)\n\}/.exec(envType)?.[1] ?? "").matchAll(
    /\/\*\*([\s\S]*?)\*\/\s+([A-Z0-9_]+)\??: ([^;]+);/g,
  ),
].map(([, comment = "", name = "", type = ""]) => ({ comment, name, type }));
const secrets = members.filter(({ comment }) => /^\s*\*?\s*Secret/.test(comment));
const variables = members.filter(({ type }) => type === "string");

/** What the code of the service logs: texts that are one of its events, and the beginnings of templates. */
function logged(): string[] {
  const files = ["src", "durable-objects"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && file !== "log-events.ts")
      .map((file) => join(folder, file)),
  );
  const code = files.map(read).join("\n");
  const templates = [...code.matchAll(/`([a-z_\d]+\.[a-z_]*)\$\{[^}]*\}([a-z_]*)`/g)];
  return Object.keys(LOG_EVENTS).filter(
    (event) =>
      code.includes(`"${event}"`) ||
      templates.some(([, begin = "", end = ""]) => event.startsWith(begin) && event.endsWith(end)),
  );
}

describe("docs/operating.md has a command for", () => {
  it.each(configured(/^\[\[d1_databases\]\]/, "database_name"))("the database %s", (name) => {
    expect(commands).toMatch(new RegExp(`wrangler d1 create ${name}( |$)`, "m"));
    expect(commands).toMatch(new RegExp(`wrangler d1 migrations apply ${name} --remote`));
  });

  it.each([...new Set(configured(/^\[\[queues\.consumers\]\]/, "queue"))])(
    "the queue %s",
    (name) => {
      expect(commands).toMatch(new RegExp(`wrangler queues create ${name}( |$)`, "m"));
    },
  );

  it.each(secrets.map(({ name }) => name))("the secret %s", (name) => {
    expect(commands).toContain(`wrangler secret put ${name}`);
  });
});

describe("docs/operating.md explains", () => {
  const bindings = [
    ...configured(/^\[\[?(d1_databases|queues\.producers|assets)/, "binding"),
    ...configured(/^\[\[(durable_objects\.bindings|ratelimits)/, "name"),
  ];

  it("every binding", () => {
    expect(bindings.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
  });

  it("every variable and secret", () => {
    expect(variables.filter(({ name }) => !guide.includes(name))).toEqual([]);
  });

  it("no variable that the code does not know", () => {
    const [, table = ""] = /\n## Variables\n([\s\S]*?)\n## /.exec(guide) ?? [];
    const named = [...table.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([A-Z0-9_]+)`/g)].flatMap(([, name]) => name ?? []),
    );
    expect(named.length).toBeGreaterThan(10);
    const known = new Set(variables.map(({ name }) => name));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it("every cron", () => {
    const [, list = ""] = /^crons = \[(.*)\]/m.exec(configuration) ?? [];
    const crons = [...list.matchAll(/"([^"]+)"/g)].flatMap(([, cron]) => cron ?? []);
    expect(crons.length).toBeGreaterThan(0);
    for (const cron of crons) expect(guide).toContain(`| \`${cron}\` |`);
  });

  it("every binding that the type has", () => {
    const known = new Set([...bindings, ...variables.map(({ name }) => name)]);
    expect(members.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
    expect(secrets.length).toBeGreaterThanOrEqual(3);
    expect(bindings.length).toBeGreaterThanOrEqual(10);
  });

  it("every event of the log; `npm run document` writes the table", () => {
    expect(guide).toBe(withTable(guide));
  });
});

it("every event that has a line of advice is logged somewhere", () => {
  const found = new Set(logged());
  expect(Object.keys(LOG_EVENTS).filter((event) => !found.has(event))).toEqual([]);
});
