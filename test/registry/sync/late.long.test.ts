import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { wrapD1 } from "../../support/d1.ts";
import {
  asMinted,
  createRegistrySource,
  diff,
  metadataOf,
  registryLeft,
  runJob,
  settleRegistry,
  V1,
  V2,
} from "../../support/registry/registry-sync.ts";

let chain: TestChain;
let source: string;

beforeEach(async () => {
  await emptyTables();
  chain = await TestChain.create();
  source = await createRegistrySource(chain);
});

const mint = (as: string) => ({ do: "mint", as, version: V1, metadata: metadataOf(as) });
/** Mints a token of a name that others mint as well, as no policy of a contract lets them. */
const mintShared = (name: string) => ({
  do: "mintAll",
  version: V1,
  rules: "open",
  tokens: [{ assetName: "dd".repeat(32), metadata: metadataOf(name) }],
});

async function expectAsOfACleanSync(
  policy?: Parameters<typeof createRegistrySource>[1],
): Promise<void> {
  const left = asMinted(await registryLeft(source));
  await emptyTables();
  const clean = await createRegistrySource(chain, policy);
  await settleRegistry(chain, clean);
  expect(left).toEqual(asMinted(await registryLeft(clean)));
}

/** Syncs while the provider does not list a transaction, and again when it does. */
async function syncLate(txHash: string | undefined): Promise<string[]> {
  await chain.faults({ match: "^/scripts/", hideTransaction: txHash });
  await settleRegistry(chain, source);
  await chain.faults();
  await chain.mine();
  const warn = vi.spyOn(console, "warn");
  await settleRegistry(chain, source);
  const lines = warn.mock.calls.map(([line]) => JSON.parse(String(line)));
  warn.mockRestore();
  return lines
    .filter(({ event }) => event === "sync.transaction_late")
    .map(({ source, tx }) => `${source} ${tx}`);
}

describe("a mint that the provider lists late", () => {
  it("is found, told to the operator, and the source goes on", async () => {
    await chain.act([mint("alpha")]);
    const [late] = await chain.act([mint("beta")]);
    await chain.act([mint("gamma"), { do: "burn", on: "alpha" }]);
    expect(await syncLate(late?.txHash)).toEqual([`${source} ${late?.txHash}`]);
    expect((await diff()).map(({ name, status }) => [name, status]).sort()).toEqual([
      ["alpha", "Deregistered"],
      ["beta", "Offline"],
      ["gamma", "Offline"],
    ]);
    await expectAsOfACleanSync();
  });

  it("comes before the later mint of its token, also when that is rolled back", async () => {
    source = await createRegistrySource(chain, "open");
    await chain.act([{ ...mint("alpha"), rules: "open" }]);
    const [late] = await chain.act([mintShared("earlier")]);
    await chain.act([mintShared("later")]);
    await syncLate(late?.txHash);
    expect((await diff()).map(({ name }) => name)).toContain("later");

    await chain.rollback(2);
    await chain.mine(3);
    await settleRegistry(chain, source);
    expect((await diff()).map(({ name }) => name)).toContain("earlier");
    await expectAsOfACleanSync("open");
  });

  it("is found though it stands before all that a listing is compared with", async () => {
    await chain.act([mint("alpha")]);
    const [late] = await chain.act([mint("beta")]);
    await chain.act([mint("gamma")]);
    await chain.mine(30);
    await chain.act([mint("delta")]);
    expect(await syncLate(late?.txHash)).toHaveLength(1);
    expect((await diff()).map(({ name }) => name).sort()).toEqual([
      "alpha",
      "beta",
      "delta",
      "gamma",
    ]);
    await expectAsOfACleanSync();
  });
});

describe("a rollback undone by half", () => {
  it("ends as if the lost blocks had never been away when they return", async () => {
    source = await createRegistrySource(chain, V2);
    await chain.act([{ ...mint("alpha"), version: V2 }]);
    await settleRegistry(chain, source);
    const tokens = (block: number) =>
      Array.from({ length: 25 }, (_, i) => ({ metadata: { name: `agent-${block}-${i}` } }));
    await chain.act(
      Array.from({ length: 5 }, (_, block) => ({
        do: "mintAll",
        version: V2,
        tokens: tokens(block),
      })),
    );
    await settleRegistry(chain, source);

    await chain.rollback(5);
    await chain.mine(7);
    let undos = 0;
    const d1 = wrapD1(env.DB, async ({ sql }, run) => {
      const undoes = sql.some((one) => one.startsWith("DELETE FROM registry_step"));
      if (undoes && ++undos > 1) throw new Error("stopped here");
      return run();
    });
    const job = { kind: "sync", network: "Preprod", sourceId: source } as const;
    await runJob(job, chain.url, { env: { DB: d1 } });
    expect(undos).toBe(2);

    await chain.faults({ fork: 0 });
    await settleRegistry(chain, source);
    await expectAsOfACleanSync(V2);
  });
});
