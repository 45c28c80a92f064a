import { describe, expect, it } from "vitest";
import { findFaults } from "../../tools/lint/language-rules.ts";

const DOCUMENTS = new Set(["escrow.md"]);
const words = (count: number) => `A ${"long ".repeat(count - 3)}sentence ends.`;

const faultsIn = (text: string, file = "src/file.ts") =>
  findFaults(file, text, DOCUMENTS).map(({ rule, line }) => `${line} ${rule}`);

describe("findFaults", () => {
  it.each([
    ["a block comment", (text: string) => `\n/**\n * ${text}\n */\n`, 2, "src/file.ts"],
    ["line comments", (text: string) => `\n  // ${text}\n`, 2, "src/file.ts"],
    ["Markdown", (text: string) => `# Title\n\n${text}\n`, 3, "docs/escrow.md"],
    ["a list of Markdown", (text: string) => `* One.\n* ${text}\n`, 2, "docs/escrow.md"],
  ])("finds a sentence of more than 25 words in %s", (_, write, line, file) => {
    expect(faultsIn(write(words(26)), file)).toEqual([`${line} long sentence`]);
    expect(faultsIn(write(`${words(25)} ${words(25)}`), file)).toEqual([]);
  });

  it("finds a cell of more than 25 words in a table", () => {
    const row = (count: number) => `| a | ${words(count)} |\n`;
    expect(faultsIn(`# Title\n\n${row(26)}${row(25)}`, "docs/escrow.md")).toEqual(["3 long cell"]);
    expect(faultsIn(`\`\`\`text\n${row(26)}\`\`\`\n`, "docs/escrow.md")).toEqual([]);
  });

  it("counts no words of code and strings", () => {
    const long = words(40);
    expect(faultsIn(`\`\`\`sh\n${long}\n\`\`\`\n`, "README.md")).toEqual([]);
    expect(faultsIn(`const text = "${long}";\n`)).toEqual([]);
  });

  it("counts the description of each parameter alone", () => {
    const text = `/** ${words(20)}\n * @param a ${words(20)}\n * @returns ${words(20)} */\n`;
    expect(faultsIn(text)).toEqual([]);
  });

  it.each(["MOST", "LONGEST", "LEAST"])("finds a bound that begins with %s_", (prefix) => {
    expect(faultsIn(`const ${prefix}_KEYS = 5;\n`)).toEqual(["1 bound"]);
    expect(faultsIn("const MAX_KEYS = 5;\nconst MIN_COIN = 1;\n")).toEqual([]);
  });

  it("finds declared names that are participles or metaphors, except in tests", () => {
    const text = "const told = 1;\nfunction openPurse() {}\nconst { asked } = x;\n";
    expect(faultsIn(text)).toEqual(["1 retired name", "2 retired name"]);
    expect(faultsIn(text, "test/file.test.ts")).toEqual([]);
    expect(faultsIn("", "src/wallets/told.ts")).toEqual(["1 retired name"]);
  });

  it("finds references to documents that the repository does not have", () => {
    expect(faultsIn("// The bound is in docs/escrow.md.\n")).toEqual([]);
    expect(faultsIn("// The bound is in plans.md.\n")).toEqual(["1 outside document"]);
    expect(faultsIn("/** The page (plans, §4). */\n")).toEqual(["1 outside document"]);
    expect(faultsIn("/** The length (RFC\n * 9112 §9.3). */\n")).toEqual([]);
  });

  it("finds ids and section numbers in the titles of tests", () => {
    const titles = ["B2 the queue", "a key (C12) ends", "§3.12 rollback: a lock", "A1: %s"];
    const file = "test/file.test.ts";
    for (const title of titles) {
      expect(faultsIn(`it("${title}", () => {});\n`, file)).toEqual(["1 test title"]);
      expect(faultsIn(`it.each([\n  [1],\n])("${title}", () => {});\n`, file)).toEqual([
        "3 test title",
      ]);
      expect(faultsIn(`it.each(ALL)(\n  "${title}",\n  () => {},\n);\n`, file)).toEqual([
        "1 test title",
      ]);
    }
    const fine = ["D1 fails", "V1 and V2 agree", "a 401 names the scheme (RFC 9110 §15.5.2)"];
    for (const title of fine) expect(faultsIn(`it("${title}", () => {});\n`, file)).toEqual([]);
  });
});
