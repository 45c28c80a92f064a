import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { shortenTimeouts } from "../../support/crash-at.ts";
import {
  createRegistrySource,
  diff,
  metadataOf,
  registryLeft,
  settleRegistry,
  V2,
} from "../../support/registry/registry-sync.ts";
import {
  expectSameAtEachSwitch,
  forgetOutages,
  outagesOf,
  type Profile,
  providerAt,
  setProviders,
} from "../../support/sources/provider-list.ts";

const READERS = ["mirror", "ryo"] as const;
/** Rules of faults that only the first provider meets. */
const AT_FIRST = "^/";

let chain: TestChain;
let expected: unknown;

const mint = (as: string) => ({ do: "mint", as, version: V2, metadata: metadataOf(as) });
const STORY = [
  mint("a"),
  { ...mint("b"), metadata: metadataOf("b", { author: {} }) },
  { do: "burn", on: "a" },
  { do: "mintAll", version: V2, tokens: [{ metadata: metadataOf("c") }], burns: ["b"] },
];

async function createListedSource(on: TestChain, profile: Profile = "mirror"): Promise<string> {
  await emptyTables();
  await forgetOutages(on, profile);
  const source = await createRegistrySource(on, V2);
  await setProviders(source, [providerAt(on, profile, ["reads"])], "registry_source");
  return source;
}

const errorOf = () => env.DB.prepare("SELECT error FROM registry_cursor").first("error");
const statuses = async () => (await diff()).map(({ name, status }) => `${name} ${status}`);

beforeAll(async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  chain = await TestChain.create();
  await chain.act(STORY);
  await emptyTables();
  const source = await createRegistrySource(chain, V2);
  await settleRegistry(chain, source);
  expected = await registryLeft(source);
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await chain.faults();
});

describe("a registry sync whose first provider stops at any call", () => {
  it.each(READERS)("ends with the same entries, read from %s", (profile) =>
    expectSameAtEachSwitch(profile, expected, async (withFirst) => {
      const source = await createListedSource(chain, profile);
      await withFirst(() => settleRegistry(chain, source));
      return registryLeft(source);
    }),
  );
});

describe("a registry's first provider", () => {
  it.each([
    ["hangs", { hang: true }],
    ["bans the key", { status: 418 }],
    ["lists no redeemers", { match: "^/scripts/", status: 500 }],
  ])("that %s is left at once", async (_, rule) => {
    const source = await createListedSource(chain);
    await chain.faults({ match: AT_FIRST, ...rule });
    shortenTimeouts([4_000]);
    await settleRegistry(chain, source);
    expect(await registryLeft(source)).toEqual(expected);
  });

  it("that lags behind the cursor is passed over, and undoes nothing", async () => {
    const own = await TestChain.create();
    const source = await createListedSource(own);
    await own.act(STORY);
    await settleRegistry(own, source);
    await own.faults({ match: AT_FIRST, behind: 2 });
    await own.act([mint("d")]);
    await settleRegistry(own, source);
    expect(await statuses()).toContain("d Offline");
    expect(await errorOf()).toBeNull();
    expect(await outagesOf(own)).toMatchObject({ reads: expect.anything() });
  });

  it("that is on a shorter fork undoes nothing", async () => {
    const own = await TestChain.create();
    const source = await createListedSource(own);
    await own.act([mint("a"), mint("b")]);
    await own.rollback(1, true);
    await own.mine(3);
    await settleRegistry(own, source);
    const before = await statuses();
    await own.faults({ match: AT_FIRST, fork: 0 });
    await settleRegistry(own, source);
    expect(await statuses()).toEqual(before);
    expect(await errorOf()).toBeNull();
  });

  it("that hides a mint is found out by another one, which is read from then on", async () => {
    const own = await TestChain.create();
    const source = await createListedSource(own);
    const [, hidden] = await own.act([mint("a"), mint("b")]);
    await own.mine(3);
    await own.faults({ match: AT_FIRST, hideTransaction: hidden?.txHash });
    await settleRegistry(own, source);
    expect(await statuses()).toEqual(["a Offline", "b Offline"]);
    expect(await outagesOf(own)).toMatchObject({
      reads: { reason: expect.stringContaining("does not list transaction") },
    });
  });

  it("that lists mints at other places than the next one loses none", async () => {
    const own = await TestChain.create();
    const source = await createListedSource(own);
    await own.act([mint("a"), mint("b")]);
    await settleRegistry(own, source);
    for (const shift of [1, 100]) {
      await env.DB.prepare(
        `UPDATE registry_cursor SET recent = (SELECT json_group_array(
           json_array(value->>0, value->>1, value->>2, value->>3 + ?)) FROM json_each(recent))`,
      )
        .bind(shift)
        .run();
      await own.act([mint(`after-${shift}`)]);
      await settleRegistry(own, source);
    }
    expect(await statuses()).toEqual(
      ["a", "b", "after-1", "after-100"].map((name) => `${name} Offline`),
    );
    expect(await errorOf()).toBeNull();
  });
});
