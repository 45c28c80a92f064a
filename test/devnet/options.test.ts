import { expect, it } from "vitest";
import { readMinutes, readOptions, USAGE } from "../../devnet/options.ts";

it("readOptions reads what npm start was asked for", () => {
  expect(readOptions([])).toEqual({});
  expect(readOptions(["--no-demo", "--keep=there", "--origins=http://127.0.0.1:9000"])).toEqual({
    "no-demo": true,
    keep: "there",
    origins: "http://127.0.0.1:9000",
  });
  expect(readOptions(["--idle", "--docs"])).toEqual({ idle: true, docs: true });
  expect(readOptions(["--troubles"])).toEqual({ troubles: true });
  expect(readOptions(["--keep"]).keep).toMatch(/\.local-state$/);
  for (const help of ["--help", "-h"]) expect(readOptions([help])).toEqual({ help: true });
});

it.each([
  ["--nodemo", "there is no option --nodemo"],
  ["-x", "there is no option -x"],
  ["--no-demo=yes", "--no-demo takes no value"],
  ["--origins", "--origins needs a value"],
  ["--origins=", "--origins needs a value"],
  ["--provider=koios", "--provider is one of ryo, dolos, platform"],
  ["--archive-after", "--archive-after needs a value"],
  ["demo", "demo is no option"],
])("readOptions reports the problem of %s in one line", (option, problem) => {
  expect(() => readOptions([option])).toThrow(
    new Error(`${problem}; npm start -- --help lists the options`),
  );
});

it("readMinutes reads minutes, hours and days", () => {
  expect(["1m", "2h", "3d"].map(readMinutes)).toEqual([1, 120, 4320]);
  expect(() => readMinutes("90s")).toThrow("90s is no duration such as 1m, 2h or 3d");
});

it("the usage lists every option, in lines that fit a screen", () => {
  for (const option of [
    "--no-demo",
    "--idle",
    "--troubles",
    "--keep",
    "--origins",
    "--provider",
    "--archive-after",
    "--help",
    "PORT=",
  ])
    expect(USAGE).toContain(option);
  expect(Math.max(...USAGE.split("\n").map(({ length }) => length))).toBeLessThan(100);
});
