import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { sized } from "../../support/effort.ts";
import { MALFORMED } from "../../support/registry/malformed-metadata.ts";
import {
  asMinted,
  createRegistrySource,
  registryLeft,
  runJob,
  settleRegistry,
  V1,
} from "../../support/registry/registry-sync.ts";

const MINTS = sized(1_000, 2_000);
const PER_TRANSACTION = 25;
/** The policies of the contracts would refuse much of this history, and a sync has to stand it. */
const OPEN = { version: V1, rules: "open" };
/** A name that several transactions mint. */
const SHARED_NAME = "dd".repeat(32);

/** What a block did to the tokens, so that taking it back can be followed. */
interface Done {
  minted: string[];
  burned: string[];
}

const compact = (name: string) => ({
  name,
  api_base_url: `https://${name}.example.com`,
  author: { name: "a" },
  tags: ["t"],
  agentPricing: { pricingType: "Free" },
  image: "i",
  metadata_version: "1",
});

beforeEach(emptyTables);

describe("a sync of many mints, with rollbacks, burns, updates and a provider that stumbles", () => {
  it("ends equal to a clean sync of the chain that is left", async () => {
    const random = generator(20260815);
    const chain = await TestChain.create();
    const source = await createRegistrySource(chain, "open");
    const history: Done[] = [];
    const holders = new Map<string, string>();
    let [minted, rollbacks, kinds] = [0, 0, 0];

    const live = () => {
      const alive = new Set<string>();
      for (const done of history) {
        for (const name of done.minted) alive.add(name);
        for (const name of done.burned) alive.delete(name);
      }
      return [...alive];
    };
    const play = async (step: Record<string, unknown>, done: Partial<Done>) => {
      await chain.act([step]);
      history.push({ minted: [], burned: [], ...done });
    };
    const mint = async () => {
      const names = Array.from({ length: PER_TRANSACTION }, () => `agent-${minted++}`);
      const tokens: object[] = names.map((as) => ({ as, metadata: compact(as) }));
      const holder = `seller-${minted % 4}`;
      for (const name of names) holders.set(name, holder);
      await play({ do: "mintAll", ...OPEN, holder, tokens }, { minted: names });
    };
    const mintOdd = async () => {
      const odd = MALFORMED.slice(kinds, kinds + 5);
      kinds += odd.length;
      const tokens: object[] = odd.map(([, metadata]) => ({ metadata }));
      await play({ do: "mintAll", ...OPEN, holder: "stranger", tokens: [...tokens, {}] }, {});
    };
    const pass = () =>
      runJob({ kind: "sync", network: "Preprod", sourceId: source }, chain.url).then(() => {});

    while (minted < MINTS) {
      await mint();
      const dice = random();
      const some = live();
      const pick = some[Math.floor(random() * some.length)] ?? "";
      if (dice < 0.15) await play({ do: "burn", on: pick }, { burned: [pick] });
      else if (dice < 0.3) {
        const next = `${pick}+`;
        const holder = holders.get(pick) ?? "";
        holders.set(next, holder);
        const tokens = [{ as: next, metadata: compact(next) }];
        const update = { do: "mintAll", ...OPEN, holder, tokens, burns: [pick] };
        await play(update, { minted: [next], burned: [pick] });
      } else if (dice < 0.4)
        await play(
          {
            do: "mintAll",
            ...OPEN,
            tokens: [{ assetName: SHARED_NAME, metadata: compact("shared") }],
          },
          {},
        );
      if (kinds < MALFORMED.length) await mintOdd();
      if (random() < 0.15) {
        const blocks = 1 + Math.floor(random() * Math.min(5, history.length - 1));
        await chain.rollback(blocks);
        history.splice(-blocks);
        await chain.mine(blocks + 1);
        for (let i = 0; i <= blocks; i++) history.push({ minted: [], burned: [] });
        rollbacks++;
      }
      if (random() < 0.3)
        await chain.faults({
          match: random() < 0.5 ? "/cbor$" : "/txs/[0-9a-f]+$",
          after: Math.floor(random() * 4),
          times: 1 + Math.floor(random() * 3),
          status: 404,
        });
      if (random() < 0.4) await pass();
    }
    await chain.faults();
    await settleRegistry(chain, source);
    const left = asMinted(await registryLeft(source));
    const entries = await env.DB.prepare("SELECT count(*) AS n FROM registry_entry").first("n");

    await emptyTables();
    const clean = await createRegistrySource(chain, "open");
    await settleRegistry(chain, clean);
    expect(left).toEqual(asMinted(await registryLeft(clean)));
    expect({
      minted,
      rollbacks: rollbacks > 3,
      kinds,
      entries: Number(entries) > MINTS / 2,
    }).toEqual({
      minted: MINTS,
      rollbacks: true,
      kinds: MALFORMED.length,
      entries: true,
    });
  });
});

/** A small reproducible generator (mulberry32), 0 ≤ x < 1. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
