import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { applyMint, EntryChanges } from "../../../src/registry/sync/changes.ts";
import { commitChanges } from "../../../src/registry/sync/commit-changes.ts";
import { readCursor } from "../../../src/registry/sync/cursor.ts";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { sampled } from "../../support/effort.ts";
import { MALFORMED } from "../../support/registry/malformed-metadata.ts";
import {
  createRegistrySource,
  diff,
  metadataOf,
  settleRegistry,
  V1,
} from "../../support/registry/registry-sync.ts";

let chain: TestChain;
let source: string;

beforeEach(async () => {
  await emptyTables();
  chain = await TestChain.create();
  source = await createRegistrySource(chain);
});

const mint = (as: string, metadata: unknown = metadataOf(as), holder = "seller-0") => ({
  do: "mint",
  as,
  version: V1,
  holder,
  metadata,
});
const statuses = async () => (await diff()).map(({ name, status }) => [name, status]);

/** One byte each on the chain, and six in JSON: 13 KB here are 80 KB there. */
const CONTROL_CHARACTERS = Array(220).fill("\u0001".repeat(60));

describe("a stranger's token", () => {
  it.each(sampled(3, MALFORMED))(
    "with %s is Invalid, and the agent after it is found",
    async (_, metadata) => {
      await chain.act([mint("theirs", metadata, "stranger"), mint("alpha")]);
      await settleRegistry(chain, source);
      expect((await diff()).map(({ status }) => status)).toEqual(["Invalid", "Offline"]);
    },
  );
});

describe("a flood of tokens with all the metadata that a transaction can hold", () => {
  const NAMES = Array.from({ length: 20 }, (_, i) => `flood-${i}`);
  const flood = NAMES.map((name) =>
    mint(name, metadataOf(name, { description: CONTROL_CHARACTERS }), "stranger"),
  );

  it("is followed like any other, and so is the agent after it", async () => {
    await chain.act([...flood, mint("alpha")]);
    await settleRegistry(chain, source);
    expect((await diff()).map(({ name }) => name)).toEqual([...NAMES, "alpha"]);
  });

  it("is taken back with its blocks", async () => {
    await chain.act([mint("alpha")]);
    await settleRegistry(chain, source);
    await chain.act(flood);
    await settleRegistry(chain, source);
    await chain.rollback(NAMES.length);
    await chain.mine(NAMES.length + 1);
    await settleRegistry(chain, source);
    const [alpha, ...taken] = await statuses();
    expect(alpha).toEqual(["alpha", "Offline"]);
    expect(taken.map(([, status]) => status)).toEqual(NAMES.map(() => "Deregistered"));
  });
});

// A ledger of the Conway era refuses such bytes, and so does the local chain.
it("a transaction whose bytes mint one token twice adds one step, and stops nothing", async () => {
  const policyId = "ab".repeat(28);
  const token = { policyId, assetName: "cd".repeat(32), quantity: 1n };
  const hash = "ef".repeat(32);
  const changes = new EntryChanges([], new Set(), Date.now());
  applyMint(
    changes,
    { id: source, network: "Preprod", policyId, url: null },
    {
      blockPosition: {
        hash,
        blockHash: hash,
        blockHeight: 5,
        txIndex: 0,
        blockTime: 1,
        validContract: true,
      },
      mintPosition: [5, 0, hash, 0],
      transaction: {
        hash,
        inputs: [],
        outputs: [],
        collateralReturn: null,
        fee: 0n,
        validFrom: null,
        validTo: null,
        spendRedeemers: [],
        redeemerCount: 0,
        mint: [token, token],
        metadata: new Map(),
        signers: [],
        isValid: true,
      },
    },
  );
  const cursor = await readCursor(openDb(env), source);
  if (!cursor) throw new Error("the source has no cursor");
  await commitChanges(openDb(env), cursor, changes, []);
  expect(await statuses()).toEqual([["cd".repeat(32), "Invalid"]]);
});
