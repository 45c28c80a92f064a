import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { MUTANTS } from "../../tools/mutants/mutants.ts";

it.each(MUTANTS)("The mutant '$fault' names text that its file has once", ({ file, from }) => {
  expect(readFileSync(file, "utf8").split(from)).toHaveLength(2);
});
