import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readGuideGroups } from "../../tools/docs/guides.ts";

const groups = readGuideGroups(readFileSync("docs/llms.txt", "utf8"));
/** Guides that are read for a task; the others are looked things up in. */
const guides = groups
  .filter(({ title }) => title !== "Reference")
  .flatMap((group) => group.guides.map(({ name }) => name))
  .filter((name) => name !== "webhook-events");

it("docs/llms.txt has a group for each task", () => {
  expect(groups.map(({ title }) => title)).toEqual([
    "Start",
    "Sell by escrow",
    "Buy",
    "Sell over x402",
    "Receive webhooks",
    "Operate",
    "Move from another service",
    "Reference",
    "Contribute",
  ]);
});

it.each(guides)("docs/%s.md begins with what its reader has at its end", (name) => {
  const [, , beginning = ""] = readFileSync(`docs/${name}.md`, "utf8").split("\n");
  expect(beginning).toMatch(/^At the end, /);
});
