import { expect, it } from "vitest";
import { createProgress } from "../../devnet/progress.ts";

function written(isTTY: boolean): string {
  let text = "";
  const progress = createProgress({
    isTTY,
    write: (more) => {
      text += more;
    },
  });
  progress.begin("Building");
  progress.begin("Starting");
  progress.end();
  return text;
}

it("progress rewrites one line of a terminal, which is empty at the end", () => {
  const clear = "\r\u001b[K";
  expect(written(true)).toBe(`${clear}Building …${clear}Starting …${clear}`);
});

it("progress is a line for each phase where there is no terminal", () => {
  expect(written(false)).toBe("Building …\nStarting …\n");
});
