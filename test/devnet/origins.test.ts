import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { EXAMPLE_ORIGINS, readOrigins } from "../../devnet/origins.ts";

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

it("the agents of the guides listen at different ports, which the service may call", () => {
  const ports = ["first-job.md", "escrow-for-sellers.md"].map((name) => {
    const guide = readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");
    return /PORT=(\d+)/.exec(guide)?.[1];
  });
  const { agent, guideAgent } = EXAMPLE_ORIGINS;
  expect(ports).toEqual([agent, guideAgent].map((origin) => new URL(origin).port));
});
