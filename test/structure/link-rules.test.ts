import { describe, expect, it } from "vitest";
import { anchorsOf, findBrokenLinks } from "../../tools/lint/link-rules.ts";

const FILES: Record<string, string> = {
  "README.md": "# Title\n\n## Try it\n",
  "docs/escrow.md": "# Escrow\n\n## What `npm start` does\n",
  "docs/page.md": "",
  "docs/picture.png": "",
  "src/app.ts": "",
};
const targets = {
  exists: (path: string) => path in FILES,
  read: (path: string) => FILES[path] ?? "",
};
const problemsIn = (text: string, file = "docs/page.md") =>
  findBrokenLinks(file, text, targets).map(({ line, problem }) => `${line} ${problem}`);

describe("findBrokenLinks", () => {
  it.each([
    "[a](escrow.md)",
    "[a](../README.md#try-it)",
    "[a](escrow.md#what-npm-start-does)",
    "[a](../src/app.ts#L3)",
    '![A picture](picture.png "A title")',
    "# Here\n\n[a](#here)",
    "[a]\n\n[a]: https://github.com/owner/name",
    "<https://www.rfc-editor.org/rfc/rfc9112#section-9.3>",
    "[mail](mailto:someone@mail.org)",
    "[a](/docs/escrow.md), [the reference](/docs)",
  ])("accepts %s", (text) => {
    expect(problemsIn(text)).toEqual([]);
  });

  it.each([
    ["[a](missing.md)", "there is no docs/missing.md"],
    ["[a](escrow.md#none)", "docs/escrow.md has no heading none"],
    ["[a](#none)", "docs/page.md has no heading none"],
    ["[a](../src/app.ts#main)", "src/app.ts has no heading main"],
    ["[a](/docs/missing.md)", "there is no docs/missing.md"],
    ["[a]: missing.md", "there is no docs/missing.md"],
    ["[a]()", "leads nowhere"],
    ["[a](#)", "leads nowhere"],
    ["[a](https://owner)", "owner is no public host"],
    ["[a](https://)", "is no web address"],
    ["[a](javascript:run)", "is no web address"],
    ['<img src="missing.png">', "there is no docs/missing.png"],
  ])("finds that %s is broken", (text, problem) => {
    expect(problemsIn(`# Title\n\n${text}\n`)).toEqual([`3 ${problem}`]);
  });

  it("checks both the picture of a badge and where the badge leads", () => {
    expect(problemsIn("[![Deploy](missing.svg)](#)")).toEqual([
      "1 there is no docs/missing.svg",
      "1 leads nowhere",
    ]);
  });

  it("reads no links in code", () => {
    expect(problemsIn("```md\n[a](missing.md)\n```\n`[a](missing.md)`\n")).toEqual([]);
    expect(problemsIn("```md\n```\n[a](missing.md)\n")).toHaveLength(1);
  });
});

it("anchorsOf makes anchors as GitHub does, and numbers headings of the same text", () => {
  const text =
    "# A `b` & c_d!\n\n## [Link](x.md): text\n\n## Same\n\n## Same\n\n```\n# no heading\n```\n";
  expect([...anchorsOf(text)]).toEqual(["a-b--c_d", "link-text", "same", "same-1"]);
});
