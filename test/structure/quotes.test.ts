import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { withQuotes } from "../../tools/docs/quotes.ts";

const read = (path: string) => readFileSync(path, "utf8");

it.each(["README.md", ...globSync("docs/*.md")])("%s quotes the examples as they are", (path) => {
  expect(read(path), "npm run document").toBe(withQuotes(read(path), read));
});

it("withQuotes writes a file, or some of its lines, into the code block after its name", () => {
  const file = () => "a\nb\nc\n";
  const quote = (lines: string, text: string) =>
    `<!-- examples/x.ts${lines} -->\n\`\`\`ts\n${text}\`\`\`\n\n\`\`\`ts\nother\n\`\`\`\n`;
  expect(withQuotes(quote("", "old\n"), file)).toBe(quote("", "a\nb\nc\n"));
  expect(withQuotes(quote(" 2-3", ""), file)).toBe(quote(" 2-3", "b\nc\n"));
});
