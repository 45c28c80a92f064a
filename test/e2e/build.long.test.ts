import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { GZIP_LIMIT_BYTES, isSmallEnough } from "../../devnet/build.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

it("npm run build checks only the size of the bundle, which does not depend on the load of the machine", async () => {
  const built = await promisify(execFile)(process.execPath, ["devnet/build.ts"], { cwd: root });
  expect(built.stdout).toMatch(
    /^dist\/worker\.js: \d+ KiB, gzip \d+ KiB \(limit 512 KiB\)\npublic\/console: gzip \d+ KiB \(limit 150 KiB\)\n$/,
  );
});

it.each([
  [GZIP_LIMIT_BYTES, true],
  [GZIP_LIMIT_BYTES + 1, false],
])("the size limit accepts a bundle of %i bytes of gzip: %s", (gzipBytes, isEnough) => {
  expect(isSmallEnough({ path: "", bytes: 0, gzipBytes })).toBe(isEnough);
});
