import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { developmentSecrets } from "../../devnet/secrets.ts";

describe("development secrets", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "secrets-"));
    path = join(folder, ".dev.vars");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("are made once, long enough, and read from the file afterwards", () => {
    const made = developmentSecrets(path);
    expect(made.API_KEY_SECRET.length).toBeGreaterThanOrEqual(32);
    expect(made.ADMIN_KEY.length).toBeGreaterThanOrEqual(15);
    const [, sealingKey = ""] = /^k1:(.+)$/.exec(made.SEALING_KEYS) ?? [];
    expect(Buffer.from(sealingKey, "base64")).toHaveLength(32);
    expect(developmentSecrets(path)).toEqual(made);
    expect(readdirSync(folder)).toEqual([".dev.vars"]);
  });

  it("differ from one file to the next", () => {
    const other = developmentSecrets(join(folder, "other"));
    expect(developmentSecrets(path)).not.toEqual(other);
  });

  it("come with whatever else the file sets, which is left as it is", () => {
    const file = "API_KEY_SECRET=a\nSEALING_KEYS=b\nADMIN_KEY=c\nCONFIRMATION_THRESHOLD=10\n";
    writeFileSync(path, file);
    expect(developmentSecrets(path)).toMatchObject({
      ADMIN_KEY: "c",
      CONFIRMATION_THRESHOLD: "10",
    });
    expect(readFileSync(path, "utf8")).toBe(file);
  });

  it("are refused when the file lacks one", () => {
    writeFileSync(path, "ADMIN_KEY=c\n");
    expect(() => developmentSecrets(path)).toThrow("does not set API_KEY_SECRET, SEALING_KEYS");
  });
});
