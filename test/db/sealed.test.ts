import { afterEach, describe, expect, it, vi } from "vitest";
import { SealError, seal, unseal, unsealOrEmpty } from "../../src/db/sealed.ts";

const KEY_1 = `k1:${btoa("1".repeat(32))}`;
const KEY_2 = `k2:${btoa("2".repeat(32))}`;
const PLACE = { table: "managed_wallet", id: "wallet-1", column: "mnemonic" };

describe("seal and open", () => {
  it("give the secret back at its own place", async () => {
    const env = { SEALING_KEYS: KEY_1 };
    const sealed = await seal(env, PLACE, "twelve words ä 字");
    expect(sealed).not.toContain("twelve");
    expect(await unseal(env, PLACE, sealed)).toBe("twelve words ä 字");
  });

  it("never make the same value twice", async () => {
    const env = { SEALING_KEYS: KEY_1 };
    expect(await seal(env, PLACE, "secret")).not.toBe(await seal(env, PLACE, "secret"));
  });

  it.each([
    ["row", { ...PLACE, id: "wallet-2" }],
    ["column", { ...PLACE, column: "note" }],
    ["table", { ...PLACE, table: "payment_source" }],
  ])("refuse a value that was moved to another %s", async (_, elsewhere) => {
    const env = { SEALING_KEYS: KEY_1 };
    const sealed = await seal(env, PLACE, "secret");
    await expect(unseal(env, elsewhere, sealed)).rejects.toThrow(SealError);
  });

  it("refuse a value of which one character was changed", async () => {
    const env = { SEALING_KEYS: KEY_1 };
    const sealed = await seal(env, PLACE, "a secret of some length");
    const at = sealed.length - 12;
    const altered = `${sealed.slice(0, at)}${sealed[at] === "A" ? "B" : "A"}${sealed.slice(at + 1)}`;
    await expect(unseal(env, PLACE, altered)).rejects.toThrow(/key k1/);
  });

  it.each(["", "secret", "v1.k1", "v2.k1.AAAA", "v1.k1.AAAA.BBBB", "v1.k1.A"])(
    "refuse %j, which was never sealed",
    async (value) => {
      await expect(unseal({ SEALING_KEYS: KEY_1 }, PLACE, value)).rejects.toThrow(SealError);
    },
  );
});

describe("unsealOrEmpty", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("opens as open does, and logs nothing", async () => {
    const lines = vi.spyOn(console, "error");
    const env = { SEALING_KEYS: KEY_1 };
    expect(await unsealOrEmpty(env, PLACE, await seal(env, PLACE, "secret"))).toBe("secret");
    expect(lines).not.toHaveBeenCalled();
  });

  it("gives nothing for a value whose key is missing, and logs its place and the key", async () => {
    const lines = vi.spyOn(console, "error");
    const sealed = await seal({ SEALING_KEYS: KEY_1 }, PLACE, "secret");
    expect(await unsealOrEmpty({ SEALING_KEYS: KEY_2 }, PLACE, sealed)).toBe("");
    expect(lines.mock.calls.map(([line]) => JSON.parse(line))).toEqual([
      { event: "sealed.unopened", ...PLACE, error: "SEALING_KEYS: key k1 is missing" },
    ]);
  });

  it("gives nothing for a value of another row", async () => {
    const env = { SEALING_KEYS: KEY_1 };
    const sealed = await seal(env, { ...PLACE, id: "wallet-2" }, "secret");
    expect(await unsealOrEmpty(env, PLACE, sealed)).toBe("");
  });
});

describe("SEALING_KEYS", () => {
  it("seals with the first key and opens with all of them, so that keys can be rotated", async () => {
    const old = await seal({ SEALING_KEYS: KEY_1 }, PLACE, "old");
    const rotated = { SEALING_KEYS: `${KEY_2},${KEY_1}` };
    const fresh = await seal(rotated, PLACE, "fresh");
    expect(fresh).toMatch(/^v1\.k2\./);
    expect(await unseal(rotated, PLACE, old)).toBe("old");
    expect(await unseal({ SEALING_KEYS: KEY_2 }, PLACE, fresh)).toBe("fresh");
  });

  it("is named in the error together with the key that is missing", async () => {
    const sealed = await seal({ SEALING_KEYS: KEY_1 }, PLACE, "secret");
    await expect(unseal({ SEALING_KEYS: KEY_2 }, PLACE, sealed)).rejects.toThrow(
      "SEALING_KEYS: key k1 is missing",
    );
  });

  it("is found out when another key stands under a known id", async () => {
    const sealed = await seal({ SEALING_KEYS: KEY_1 }, PLACE, "secret");
    const impostor = { SEALING_KEYS: `k1:${btoa("3".repeat(32))}` };
    await expect(unseal(impostor, PLACE, sealed)).rejects.toThrow(/key k1/);
  });

  it.each(["", ",", "k1", "k1:", `k1:${btoa("short")}`, `bad id:${btoa("1".repeat(32))}`])(
    "is refused as %j",
    async (keys) => {
      await expect(seal({ SEALING_KEYS: keys }, PLACE, "secret")).rejects.toThrow(/SEALING_KEYS/);
    },
  );
});
