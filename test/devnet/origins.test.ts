import { describe, expect, it } from "vitest";
import { readOrigins } from "../../devnet/origins.ts";

describe("--origins", () => {
  it("takes loopback origins, comma separated", () => {
    expect(readOrigins("http://127.0.0.1:9000, https://localhost,http://[::1]:1/")).toEqual([
      "http://127.0.0.1:9000",
      "https://localhost",
      "http://[::1]:1",
    ]);
  });

  it.each([
    ["https://example.com", "https://example.com"],
    ["http://127.0.0.1.example.com", "http://127.0.0.1.example.com"],
    ["http://127.0.0.1:9000,http://10.0.0.1", "http://10.0.0.1"],
    ["http://127.0.0.1:9000/path", "http://127.0.0.1:9000/path"],
    ["http://user@127.0.0.1:9000", "http://user@127.0.0.1:9000"],
    ["ftp://127.0.0.1", "ftp://127.0.0.1"],
    ["127.0.0.1:9000", "127.0.0.1:9000"],
    ["http://127.0.0.1:9000,", "an empty entry"],
  ])("refuses %s", (text, bad) => {
    expect(() => readOrigins(text)).toThrow(
      `--origins: ${bad} is no origin on this machine, such as http://127.0.0.1:9000`,
    );
  });
});
