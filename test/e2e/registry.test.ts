import { afterEach, describe, expect, it } from "vitest";
import { freePort, killCopies, ready, start, stop } from "./copies.ts";

afterEach(killCopies);

describe("npm start", () => {
  it("shows agents in every status within 60 s, and one that goes and comes back", {
    timeout: 150_000,
  }, async () => {
    const copy = start(await freePort());
    const { url, adminKey } = await ready(copy);
    const seen = new Map<string, Set<string>>();
    const look = async () => {
      const response = await fetch(`${url}/api/v1/registry-diff/`, {
        method: "POST",
        headers: { token: adminKey },
        body: JSON.stringify({ network: "Preprod", statusUpdatedAfter: "1970-01-01", limit: 50 }),
      });
      const { data } = (await response.json()) as {
        data: { entries: { name: string; status: string }[] };
      };
      for (const { name, status } of data.entries) {
        if (!seen.has(name)) seen.set(name, new Set());
        seen.get(name)?.add(status);
      }
      return [...new Set(data.entries.map(({ status }) => status))].sort();
    };
    await expect
      .poll(look, { timeout: 60_000, interval: 500 })
      .toEqual(["Deregistered", "Invalid", "Offline", "Online"]);
    await expect
      .poll(
        async () => {
          await look();
          return [...(seen.get("Restless forecaster") ?? [])].sort();
        },
        { timeout: 60_000, interval: 500 },
      )
      .toEqual(["Offline", "Online"]);
    expect(await stop(copy)).toBe(0);
  });
});
