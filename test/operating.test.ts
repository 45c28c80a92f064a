import { describe, expect, it } from "vitest";
import guide from "../docs/operating.md?raw";
import envType from "../src/env.ts?raw";
import configuration from "../wrangler.toml?raw";

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

  it.each(bindings)("the binding %s", (name) => {
    expect(guide).toContain(`\`${name}\``);
  });

  it.each(variables.map(({ name }) => name))("the variable or secret %s", (name) => {
    expect(guide).toContain(name);
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
});
