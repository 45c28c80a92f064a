import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { type BundledPackage, findBundledPackages, noticeOf } from "../../tools/docs/notice.ts";

let packages: BundledPackage[];
beforeAll(async () => {
  packages = await findBundledPackages();
});

it("NOTICE names every package and font that is bundled, with its license and holders", () => {
  expect(readFileSync("NOTICE", "utf8")).toBe(noticeOf(packages));
});

it("findBundledPackages finds what the Worker, its modules, the console and the client contain", () => {
  const names = packages.map(({ name }) => name);
  const [worker, font, module] = ["hono", "@expo-google-fonts/noto-sans", "fontkit"];
  const [browser, client] = ["preact", "openapi-fetch"];
  for (const name of [worker, font, module, browser, client]) expect(names).toContain(name);
  expect(names).not.toContain("vitest");
});

it("every bundled package has a license that allows distribution, and a holder", () => {
  const licenses = new Set(packages.map(({ license }) => license));
  expect([...licenses].sort()).toEqual([
    "(MIT AND Zlib)",
    "0BSD",
    "Apache-2.0",
    "ISC",
    "MIT",
    "MIT AND OFL-1.1",
  ]);
  for (const { name, holders } of packages)
    for (const holder of holders) expect(`${name}: ${holder}`).toMatch(/: .*\w{4}/);
});
