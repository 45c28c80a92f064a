import { beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import {
  createRegistrySource,
  diff,
  metadataOf,
  registryLeft,
  runJob,
  type ShownEntry,
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

const sync = () => settleRegistry(chain, source);
const mint = (as: string, metadata: Record<string, unknown> = metadataOf(as)) => ({
  do: "mint",
  as,
  version: V1,
  metadata,
});

async function entry(name: string): Promise<ShownEntry> {
  const found = (await diff()).find((one) => one.name === name);
  if (!found) throw new Error(`no entry ${name}`);
  return found;
}

describe("a minted token", () => {
  it("becomes an entry with all that its metadata says", async () => {
    const [minted] = await chain.act([mint("alpha")]);
    await sync();
    expect(await diff()).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-z]{26}$/),
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
        name: "alpha",
        description: "Answers questions of any kind",
        status: "Offline",
        statusUpdatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        statusReason: null,
        authorName: "An author",
        authorContactEmail: "author@example.com",
        authorContactOther: null,
        authorOrganization: null,
        image: "ipfs://image",
        otherLegal: null,
        privacyPolicy: null,
        termsAndCondition: "https://example.com/terms",
        tags: ["answers", "text"],
        uptimeCheckCount: 0,
        uptimeCount: 0,
        lastUptimeCheck: null,
        lastUptimeCheckError: null,
        apiBaseUrl: "https://alpha.agents.example.com",
        paymentType: "Web3ChainV1",
        agentIdentifier: minted?.unit,
        metadataVersion: 1,
        RegistrySource: {
          id: source,
          policyId: minted?.unit?.slice(0, 56),
          type: "Web3ChainV1",
          url: null,
        },
        Capability: { name: "answering", version: "1.0.0" },
        AgentPricing: {
          pricingType: "Fixed",
          FixedPricing: { Amounts: [{ amount: "5000000", unit: "" }] },
        },
        ExampleOutput: [
          { name: "sample", mimeType: "text/plain", url: "https://example.com/sample" },
        ],
        SupportedPaymentSources: [],
        Verifications: [],
      },
    ]);
  });

  it("without metadata, or with metadata that cannot be read, is an Invalid entry with a reason", async () => {
    const [, broken] = await chain.act([
      { do: "mintAll", version: V1, tokens: [{ as: "silent" }] },
      mint("broken", metadataOf("broken", { author: {}, tags: [] })),
    ]);
    await sync();
    const [silent, second] = await diff();
    expect(silent).toMatchObject({ status: "Invalid", statusReason: "metadata: is missing" });
    expect(second).toMatchObject({
      status: "Invalid",
      name: broken?.unit?.slice(56),
      description: "",
      tags: [],
      Capability: null,
      AgentPricing: { pricingType: "Fixed", FixedPricing: { Amounts: [] } },
      statusReason: expect.stringMatching(/^(?=.*author\.name: is missing)(?=.*tags: must have)/),
    });
  });

  it.each([
    ["in one piece", "MasumiInboxV1"],
    ["in pieces", ["Masumi", "InboxV1"]],
  ])("of an inbox agent, whose type is %s, is no entry here", async (_, type) => {
    await chain.act([mint("inbox", { type, name: "inbox", agentslug: "inbox" })]);
    await sync();
    expect(await diff()).toEqual([]);
  });

  it("that is burned is Deregistered, with a new stamp", async () => {
    await chain.act([mint("alpha"), mint("beta")]);
    await sync();
    const before = await entry("alpha");
    await chain.act([{ do: "burn", on: "alpha" }]);
    await sync();
    const [last] = (await diff()).slice(-1);
    expect(last).toMatchObject({ id: before.id, status: "Deregistered", name: "alpha" });
    expect(last && last.statusUpdatedAt > before.statusUpdatedAt).toBe(true);
    expect(await entry("beta")).toMatchObject({ status: "Offline" });
  });

  it("that an update replaces is Deregistered, and its successor an entry", async () => {
    source = await createRegistrySource(chain, V2);
    await chain.act([
      { ...mint("alpha"), version: V2 },
      {
        do: "mintAll",
        version: V2,
        tokens: [{ metadata: metadataOf("alpha-2") }],
        burns: ["alpha"],
      },
    ]);
    await sync();
    expect(await entry("alpha")).toMatchObject({ status: "Deregistered" });
    expect(await entry("alpha-2")).toMatchObject({ status: "Offline" });
  });

  it("that changes hands stays as it is", async () => {
    await chain.act([mint("alpha")]);
    await sync();
    const before = await diff();
    await chain.act([{ do: "send", on: "alpha", to: "stranger" }]);
    await sync();
    expect(await diff()).toEqual(before);
  });
});

describe("a stranger's transaction", () => {
  it.each([
    ["references", { references: ["alpha"] }],
    ["carries along", { carries: ["alpha"] }],
    ["puts up as collateral", { collateral: "alpha" }],
  ])("that %s another agent's token leaves that agent untouched", async (_, beside) => {
    // Carrying and staking it takes holding it, which says nothing of the registration.
    await chain.act([mint("alpha"), { do: "send", on: "alpha", to: "stranger" }]);
    await sync();
    const before = await diff();
    await chain.act([
      {
        do: "mintAll",
        version: V1,
        holder: "stranger",
        tokens: [{ metadata: metadataOf("theirs") }],
        ...beside,
      },
    ]);
    await sync();
    expect((await diff()).filter(({ name }) => name === "alpha")).toEqual(before);
    expect(await entry("theirs")).toMatchObject({ status: "Offline" });
  });

  it("that burns a token of its own in the same breath leaves that agent untouched", async () => {
    source = await createRegistrySource(chain, V2);
    await chain.act([
      { ...mint("alpha"), version: V2 },
      { ...mint("own"), version: V2, holder: "stranger" },
      {
        do: "mintAll",
        version: V2,
        holder: "stranger",
        tokens: [{ metadata: metadataOf("theirs") }],
        references: ["alpha"],
        burns: ["own"],
      },
    ]);
    await sync();
    expect(await entry("alpha")).toMatchObject({ status: "Offline" });
    expect(await entry("own")).toMatchObject({ status: "Deregistered" });
  });
});

describe("a provider that", () => {
  it("does not have a transaction yet is asked again, and nothing is skipped", async () => {
    await chain.act([mint("alpha"), mint("beta"), mint("gamma")]);
    await chain.faults({ match: "/txs/[0-9a-f]+/cbor", after: 1, times: 3, status: 404 });
    await settleRegistry(chain, source);
    expect((await diff()).length).toBeLessThan(3);
    await sync();
    await sync();
    await sync();
    expect((await diff()).map(({ name }) => name)).toEqual(["alpha", "beta", "gamma"]);
  });

  it("lags behind what it showed before undoes nothing", async () => {
    await chain.act([mint("alpha"), mint("beta")]);
    await sync();
    const before = await diff();
    await chain.faults({ behind: 1 });
    await sync();
    expect(await diff()).toEqual(before);
  });
});

describe("a slow provider", () => {
  it("is read from as long as there is time, and what was read is written", async () => {
    const names = Array.from({ length: 20 }, (_, i) => `agent-${i}`);
    await chain.act(names.map((name) => mint(name)));
    const { now } = Date;
    const { fetch } = globalThis;
    let waited = 0;
    vi.spyOn(Date, "now").mockImplementation(() => now() + waited);
    vi.stubGlobal("fetch", (...args: Parameters<typeof fetch>) => {
      waited += 1_500;
      return fetch(...args);
    });
    await runJob({ kind: "sync", network: "Preprod", sourceId: source }, chain.url);
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
    const found = await diff();
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThan(names.length);
    await sync();
    expect((await diff()).map(({ name }) => name)).toEqual(names);
  });
});

describe("a rollback", () => {
  it("deregisters what it took, and takes it up again when it returns", async () => {
    await chain.act([mint("alpha"), mint("beta")]);
    await sync();
    const beta = await entry("beta");
    const gone = await chain.rollback(1);
    await chain.mine(2);
    await sync();
    expect(await entry("alpha")).toMatchObject({ status: "Offline" });
    expect((await diff()).find(({ id }) => id === beta.id)).toMatchObject({
      status: "Deregistered",
    });
    await chain.replay(gone);
    await chain.mine();
    await sync();
    expect(await entry("beta")).toMatchObject({ id: beta.id, status: "Offline" });
  });

  it.each([
    ["soon after the others", 0],
    ["long after the others", 30],
  ])(
    "of a block that came %s deregisters what it took, and leaves them alone",
    async (_, blocks) => {
      const older = Array.from({ length: 12 }, (_, i) => `agent-${i}`);
      await chain.act(older.map((name) => mint(name)));
      if (blocks > 0) await chain.mine(blocks);
      await chain.act([mint("last")]);
      await sync();
      const before = await diff();

      await chain.rollback(1);
      await chain.mine(2);
      await sync();
      const after = await diff();
      expect(after.slice(0, older.length)).toEqual(before.slice(0, older.length));
      expect(after.at(-1)).toMatchObject({ name: "last", status: "Deregistered" });
      const left = await registryLeft(source);
      await emptyTables();
      const clean = await createRegistrySource(chain);
      await settleRegistry(chain, clean);
      expect(left).toEqual(await registryLeft(clean));
    },
  );

  it("of a burn brings the agent back", async () => {
    await chain.act([mint("alpha")]);
    await chain.act([{ do: "burn", on: "alpha" }]);
    await sync();
    expect(await entry("alpha")).toMatchObject({ status: "Deregistered" });
    await chain.rollback(1);
    await chain.mine(2);
    await sync();
    expect(await entry("alpha")).toMatchObject({ status: "Offline" });
  });
});
