/** Whether what a browser shows keeps anybody out. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResults {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
}

/** What keeps people with disabilities out of what is shown, and what is wider than the screen. */
export async function expectAccessible(page: Page, name: string): Promise<void> {
  if (!(await page.evaluate("typeof axe === 'object'"))) await page.evaluate(AXE);
  const { violations } = (await page.evaluate("axe.run()")) as AxeResults;
  const told = violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes[0]?.html}`);
  expect(told).toEqual([]);
  const isTooWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
  expect(`${name}: ${isTooWide ? "wider than" : "as wide as"} the screen`).toBe(
    `${name}: as wide as the screen`,
  );
}
