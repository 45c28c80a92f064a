import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { LOG_EVENTS } from "../../src/log-events.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const guide = read("docs/operating.md");
const envType = read("src/env.ts");
const configuration = read("wrangler.toml");

const GUIDES = ["deploying", "operating", "secrets", "monitoring", "upgrading", "restoring"].map(
  (name) => `docs/${name}.md`,
);
const manifest = JSON.parse(read("package.json")) as {
  scripts: Record<string, string>;
  cloudflare: { bindings: Record<string, object> };
};

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
    /\/\*\*([\s\S]*?)\*\/\s+([A-Z0-9_]+)(\??): ([^;]+);/g,
  ),
].map(([, comment = "", name = "", mark = "", type = ""]) => {
  // `ADMIN_KEY` may be taken away once there are other keys.
  return { comment, name, type, isOptional: mark === "?" && name !== "ADMIN_KEY" };
});
const secrets = members.filter(({ comment }) => /^\s*\*?\s*Secret/.test(comment));
const variables = members.filter(({ type }) => type === "string");

/** Links of a page to files that are not there, or to headings that a file does not have. */
function brokenLinks(path: string): string[] {
  const links = [...read(path).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
  return links.flatMap(([link, file = "", heading]) => {
    const target = file === "" ? path : join("docs", file);
    if (!existsSync(join(root, target))) return [`${path} ${link}`];
    const anchors = [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, text = ""]) =>
      text
        .toLowerCase()
        .replace(/[^\w\s-]/g, "")
        .replaceAll(" ", "-"),
    );
    return heading === undefined || anchors.includes(heading) ? [] : [`${path} ${link}`];
  });
}

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

describe("the guides", () => {
  it("deploy with the five commands of the README", () => {
    const [, readme = ""] =
      /## Deploy it[\s\S]*?```sh\n([\s\S]*?)```/.exec(read("README.md")) ?? [];
    const five = readme.split("\n").flatMap((line) => line.replace(/#.*/, "").trim() || []);
    expect(five).toHaveLength(5);
    expect(read("docs/deploying.md")).toContain(`\`\`\`sh\n${five.join("\n")}\n\`\`\``);
  });

  it.each(["README.md", ...GUIDES])("%s names only commands of package.json", (path) => {
    const named = [...read(path).matchAll(/npm run ([\w:]+)/g)].flatMap(([, name]) => name ?? []);
    expect(named.filter((name) => !(name in manifest.scripts))).toEqual([]);
  });

  it("have no link to a page or heading that is not there", () => {
    expect(GUIDES.flatMap((path) => brokenLinks(path))).toEqual([]);
  });
});

describe("each required secret", () => {
  const required = secrets.filter(({ isOptional }) => !isOptional).map(({ name }) => name);

  it("is asked for by the button that deploys", () => {
    expect(required.length).toBeGreaterThanOrEqual(3);
    const example = [...read(".dev.vars.example").matchAll(/^(\w+)=/gm)].map(([, name]) => name);
    expect(example.sort()).toEqual(required.sort());
    expect(Object.keys(manifest.cloudflare.bindings).sort()).toEqual(required.sort());
  });
});

it("staging is configured as production is, under other names", () => {
  const [production = "", staging = ""] = configuration
    .slice(configuration.indexOf("[[d1_databases]]"))
    .replace(/^#.*\n/gm, "")
    .split('[env.staging]\nname = "agent-payment-service-staging"\n');
  const expected = production
    .replace(/^(\[\[?)/gm, "$1env.staging.")
    .replace(/(database_name = "agent-payment-service)/g, "$1-staging")
    .replace(/"agent-payment-(events|deliveries)/g, '"agent-payment-staging-$1')
    .replace(/namespace_id = "1/g, 'namespace_id = "2');
  const tidy = (text: string) => text.replace(/\n{2,}/g, "\n\n").trim();
  expect(tidy(staging)).toBe(tidy(expected));
});

describe("docs/operating.md explains", () => {
  const bindings = [
    ...configured(/^\[\[?(d1_databases|queues\.producers|assets|version_metadata)/, "binding"),
    ...configured(/^\[\[(durable_objects\.bindings|ratelimits)/, "name"),
  ];

  it("every binding", () => {
    const deploying = read("docs/deploying.md");
    expect(bindings.filter((name) => !deploying.includes(`\`${name}\``))).toEqual([]);
  });

  it("every variable and secret", () => {
    const guides = `${guide}${read("docs/secrets.md")}`;
    expect(variables.filter(({ name }) => !guides.includes(name))).toEqual([]);
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
});

it("every event that has a line of advice is logged somewhere", () => {
  const found = new Set(logged());
  expect(Object.keys(LOG_EVENTS).filter((event) => !found.has(event))).toEqual([]);
});
