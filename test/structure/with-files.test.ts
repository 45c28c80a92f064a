import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../src/http/errors/codes.ts";
import { LOG_EVENTS } from "../../src/log-events.ts";
import { readGuides } from "../../tools/docs/read-guides.ts";
import { withFiles } from "../../tools/docs/with-files.ts";
import { findFaults } from "../../tools/lint/language-rules.ts";

const guides = readGuides();

it("README.md quotes lines of an example as they are", () => {
  const [, quote = ""] = /```ts\n([\s\S]*?)```/.exec(readFileSync("README.md", "utf8")) ?? [];
  expect(quote.split("\n")).toHaveLength(6);
  expect(readFileSync("examples/buy-a-job.ts", "utf8")).toContain(quote);
});

it("withFiles puts a program in the place of a line that only links it", () => {
  const link = "[examples/x.py](../examples/x.py)";
  const read = (path: string) => `# ${path} costs $1\n`;
  expect(withFiles(`Run:\n\n${link}\n\nSee ${link}.\n`, read)).toBe(
    `Run:\n\n\`\`\`py\n# examples/x.py costs $1\n\`\`\`\n\nSee ${link}.\n`,
  );
});

describe("a guide as it is served", () => {
  it("explains every code of an error, and every event of the log", () => {
    for (const code of Object.keys(ERROR_CODES))
      expect(guides["errors.md"]).toContain(`\n### ${code}\n`);
    for (const event of Object.keys(LOG_EVENTS)) expect(guides["monitoring.md"]).toContain(event);
  });

  it.each(["errors.md", "monitoring.md"])("obeys the rules of language: %s", (name) => {
    const documents = new Set(Object.keys(guides));
    expect(findFaults(`docs/${name}`, guides[name] ?? "", documents)).toEqual([]);
  });
});
