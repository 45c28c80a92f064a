import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { app, call, emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { countingD1, wrapD1 } from "../support/d1.ts";
import { insertKey } from "../support/keys.ts";
import { EntryWriter, registered } from "../support/registry/entries.ts";
import {
  ask,
  createRegistrySource,
  diff,
  metadataOf,
  type ShownEntry,
  settleRegistry,
  V1,
} from "../support/registry/registry-sync.ts";
import { createSource } from "../support/sources/sync.ts";

beforeEach(emptyTables);

const names = (entries: ShownEntry[]) => entries.map(({ name }) => name);

async function setStatus(status: string, ...agents: string[]): Promise<void> {
  await env.DB.prepare(
    `UPDATE registry_entry SET status = ?
     WHERE doc->>'name' IN (SELECT value FROM json_each(?))`,
  )
    .bind(status, JSON.stringify(agents))
    .run();
}

describe("POST /registry-entry", () => {
  let writer: EntryWriter;

  beforeEach(async () => {
    writer = await EntryWriter.create();
    await writer.write({ a: registered("a", { tags: ["maps"] }) });
    await writer.write({ b: registered("b", { agentPricing: { pricingType: "Free" } }) });
    await writer.write({ c: registered("c", { capability: { name: "x", version: "2" } }) });
    await writer.write({ d: { supply: "1", profile: null, reason: "name: is missing" } });
    await setStatus("Online", "a", "b", "c");
  });

  it("lists agents that are online, newest first, and pages after the cursor", async () => {
    const first = await ask("/registry-entry", { limit: 2 });
    expect(names(first)).toEqual(["c", "b"]);
    const cursorId = first[1]?.id;
    expect(names(await ask("/registry-entry", { limit: 2, cursorId }))).toEqual(["a"]);
  });

  it.each([
    [{ status: ["Invalid"] }, ["64"]],
    [{ status: ["Online", "Invalid"] }, ["64", "c", "b", "a"]],
    [{ paymentTypes: ["None"] }, ["b"]],
    [{ tags: ["maps", "other"] }, ["a"]],
    [{ capability: { name: "x" } }, ["c"]],
    [{ capability: { name: "x", version: "2" } }, ["c"]],
    [{ capability: { name: "x", version: "1" } }, []],
    [{ policyId: "00".repeat(28) }, []],
  ])("filters by %j", async (filter, expected) => {
    expect(names(await ask("/registry-entry", { filter }))).toEqual(expected);
  });

  it("filters by identifier, and by when an agent was last checked", async () => {
    const assetIdentifier = writer.identifier("b");
    expect(names(await ask("/registry-entry", { filter: { assetIdentifier } }))).toEqual(["b"]);
    await env.DB.prepare("UPDATE registry_health SET last_check_at = 1700000000000").run();
    const since = (minHealthCheckDate: string) => ask("/registry-entry", { minHealthCheckDate });
    expect(await since("2023-11-01")).toHaveLength(3);
    expect(await since("2023-12-01")).toHaveLength(0);
  });
});

describe("a page of many agents that are online", () => {
  const MANY = 120;
  let writer: EntryWriter;

  /** Rows that D1 read for one answer. */
  async function rowsFor(method: string, path: string, body?: object): Promise<number> {
    const { d1, rowsRead } = countingD1(env.DB);
    const answer = await app.request(
      `/api/v1${path}`,
      {
        method,
        headers: { token: env.ADMIN_KEY ?? "" },
        ...(body && { body: JSON.stringify(body) }),
      },
      { ...env, DB: d1 },
    );
    expect(answer.status).toBe(200);
    return rowsRead();
  }

  beforeEach(async () => {
    writer = await EntryWriter.create();
    for (let i = 0; i < MANY; i += 60)
      await writer.write(
        Object.fromEntries(
          Array.from({ length: 60 }, (_, k) => [`${i + k}`, registered(`${i + k}`)]),
        ),
      );
    await env.DB.prepare("UPDATE registry_entry SET status = 'Online'").run();
  });

  it.each([
    ["by default", {}],
    ["of two statuses", { filter: { status: ["Offline", "Online"] } }],
    ["of a capability", { filter: { capability: { name: "answering", version: "1.0.0" } } }],
  ])("%s reads a few rows for each that it shows", async (_, more) => {
    const body = { network: "Preprod", limit: 10, ...more };
    expect(await rowsFor("POST", "/registry-entry", body)).toBeLessThanOrEqual(35);
  });

  it("reads a few rows for the one agent with an identifier", async () => {
    const filter = { assetIdentifier: writer.identifier("0") };
    const body = { network: "Preprod", filter };
    expect(await rowsFor("POST", "/registry-entry", body)).toBeLessThanOrEqual(10);
  });

  it("reads a few rows for each capability, however many agents offer it", async () => {
    expect(await rowsFor("GET", "/capability?network=Preprod")).toBeLessThanOrEqual(15);
  });
});

describe("GET /capability", () => {
  it("lists each capability that an agent offers now once, and pages after the cursor", async () => {
    const writer = await EntryWriter.create();
    const offering = (name: string, version: string) =>
      registered(`${name}${version}`, { capability: { name, version } });
    await writer.write({
      a: offering("x", "1"),
      b: offering("x", "2"),
      c: offering("y", "1"),
      d: offering("z", "1"),
    });
    await writer.write({ e: registered("x1", { capability: { name: "x", version: "1" } }) });
    await setStatus("Online", "x1", "x2", "y1");
    const list = async (query: string) => {
      const answer = await call(`/api/v1/capability?network=Preprod&${query}`);
      const { data } = (await answer.json()) as {
        data: { capabilities: { id: string; name: string; version: string }[] };
      };
      return data.capabilities;
    };
    const all = await list("limit=10");
    expect(all.map(({ name, version }) => name + version).sort()).toEqual(["x1", "x2", "y1"]);
    const [first, ...rest] = all;
    expect(await list(`cursorId=${first?.id}`)).toEqual(rest);
  });
});

describe("GET /payment-information/, /registry/wallet and /registry/agent-identifier", () => {
  let chain: TestChain;
  let unit: string;

  beforeEach(async () => {
    chain = await TestChain.create();
    const source = await createRegistrySource(chain);
    const mint = (as: string, metadata: object) => ({ do: "mint", as, version: V1, metadata });
    const [alpha] = await chain.act([
      mint("alpha", metadataOf("alpha")),
      mint("broken", metadataOf("broken", { author: {} })),
      mint("no text", metadataOf("no text", { metadata_version: { toString: "", valueOf: "" } })),
      mint("inbox", { type: "MasumiInboxV1", name: "inbox" }),
    ]);
    unit = alpha?.unit ?? "";
    await settleRegistry(chain, source);
  });

  const get = async (path: string, token = env.ADMIN_KEY ?? "", DB = env.DB) => {
    const answer = await app.request(
      `/api/v1${path}`,
      { headers: { token } },
      { ...env, DB, BLOCKFROST_URL_PREPROD: chain.url },
    );
    const body = (await answer.json()) as { data?: Record<string, unknown> };
    return { status: answer.status, data: body.data };
  };
  const information = (token?: string, DB?: D1Database) =>
    get(`/payment-information/?agentIdentifier=${unit}`, token, DB);

  it("name the wallet that holds the agent's token, and is paid", async () => {
    const { wallets } = await chain.wallets();
    const seller = wallets.find(({ name }) => name === "seller-0");
    const { status, data } = await information();
    expect(status).toBe(200);
    const [entry] = (await diff()).filter(({ name }) => name === "alpha");
    expect(data).toEqual({
      ...entry,
      sellerWallet: { address: seller?.address, vkey: seller?.vkey },
    });
  });

  it("follow the token to another wallet", async () => {
    await chain.act([{ do: "send", on: "alpha", to: "stranger" }]);
    const { wallets } = await chain.wallets();
    const stranger = wallets.find(({ name }) => name === "stranger");
    const { data } = await information();
    expect(data).toMatchObject({ sellerWallet: { vkey: stranger?.vkey } });
  });

  it("ask the provider once for many callers, a while long", async () => {
    await information();
    await chain.stats();
    for (let i = 0; i < 3; i++) await information();
    expect((await chain.stats()).total).toBe(0);
  });

  it("answer 404 for an agent that is burned, unknown, or of a registry that is gone", async () => {
    expect((await get(`/payment-information?agentIdentifier=${"ab".repeat(40)}`)).status).toBe(404);
    await chain.act([{ do: "burn", on: "alpha" }]);
    expect((await information()).status).toBe(404);
    await env.DB.prepare("UPDATE registry_source SET deleted_at = 1").run();
    expect((await information()).status).toBe(404);
  });

  it("answer 404 to a key of the other network, and 402 to one without credits", async () => {
    expect((await information(await insertKey({ networkLimit: ["Mainnet"] }))).status).toBe(404);
    const token = await insertKey({ usageLimited: true, maxUsageCredits: 1 });
    expect((await information(token)).status).toBe(200);
    expect((await information(token)).status).toBe(402);
  });

  it("ask the provider nothing for a key without credits", async () => {
    await createSource(chain);
    const { wallets } = await chain.wallets();
    const vkey = wallets.find(({ name }) => name === "seller-0")?.vkey;
    const token = await insertKey({ usageLimited: true, maxUsageCredits: 0 });
    await chain.stats();
    const answers = await Promise.all([
      information(token),
      get(`/registry/wallet?network=Preprod&walletVKey=${vkey}`, token),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([402, 402]);
    expect((await chain.stats()).calls).toEqual({});
    // What is not there is still said first.
    const unknown = `/registry/wallet?network=Preprod&walletVKey=${"00".repeat(28)}`;
    expect((await get(unknown, token)).status).toBe(404);
  });

  it("cost nothing when the answer cannot be put together", async () => {
    const token = await insertKey({ id: "limited", usageLimited: true, maxUsageCredits: 1 });
    const DB = wrapD1(env.DB, (call, run) => {
      if (call.sql.some((one) => one.includes('from "registry_source"')))
        throw new Error("D1_ERROR: D1 DB is overloaded. Too many requests queued.");
      return run();
    });
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    expect((await information(token, DB)).status).toBe(503);
    error.mockRestore();
    const used = "SELECT accumulated_usage_credits AS used FROM api_key WHERE id = 'limited'";
    expect(await env.DB.prepare(used).first()).toEqual({ used: 0 });
  });

  it("list what a managed wallet holds, less what cannot be read", async () => {
    const paymentSource = await createSource(chain);
    const { wallets, contracts } = await chain.wallets();
    const [contract] = contracts.filter(({ type }) => type === V1);
    const vkey = wallets.find(({ name }) => name === "seller-0")?.vkey;
    const expected = {
      Assets: [
        {
          policyId: unit.slice(0, 56),
          assetName: unit.slice(56),
          agentIdentifier: unit,
          Metadata: {
            name: "alpha",
            description: "Answers questions of any kind",
            apiBaseUrl: "https://alpha.agents.example.com",
            image: "ipfs://image",
            Tags: ["answers", "text"],
            Capability: { name: "answering", version: "1.0.0" },
            ExampleOutputs: [
              { name: "sample", mimeType: "text/plain", url: "https://example.com/sample" },
            ],
            Author: {
              name: "An author",
              organization: null,
              contactEmail: "author@example.com",
              contactOther: null,
            },
            Legal: { privacyPolicy: null, terms: "https://example.com/terms", other: null },
            AgentPricing: { pricingType: "Fixed", Pricing: [{ unit: "", amount: "5000000" }] },
            SupportedPaymentSources: [],
            Verifications: [],
            metadataVersion: 1,
          },
        },
      ],
    };
    const wallet = (query: string) => get(`/registry/wallet?network=Preprod&${query}`);
    expect((await wallet(`walletVKey=${vkey}`)).data).toEqual(expected);
    const at = `smartContractAddress=${contract?.address}`;
    expect((await wallet(`walletVkey=${vkey}&${at}`)).data).toEqual(expected);
    expect((await wallet(`walletVKey=${vkey}&smartContractAddress=other`)).status).toBe(404);
    expect((await wallet(`walletVKey=${"00".repeat(28)}`)).status).toBe(404);
    expect(paymentSource).toMatch(/./);
  });

  it("show an agent that was just read without asking the provider, in either case", async () => {
    await chain.stats();
    const ask = (id: string) =>
      get(`/registry/agent-identifier?network=Preprod&agentIdentifier=${id}`);
    const shown = await ask(unit.toUpperCase());
    expect(shown).toMatchObject({
      status: 200,
      data: {
        ...{ policyId: unit.slice(0, 56), assetName: unit.slice(56), agentIdentifier: unit },
        Metadata: { name: "alpha", AgentPricing: { pricingType: "Fixed" } },
      },
    });
    expect((await chain.stats()).calls).toEqual({});

    // Without a registry that is followed, a payment source with the policy is asked.
    await env.DB.prepare("UPDATE registry_cursor SET last_checked_at = 0").run();
    expect((await ask(unit)).status).toBe(404);
    await createSource(chain);
    expect(await ask(unit)).toEqual(shown);
    const unknown = await Promise.all([ask(`${unit.slice(0, -2)}00`), ask(`${unit}00`)]);
    expect(unknown.map(({ status }) => status)).toEqual([404, 404]);
    await chain.act([{ do: "burn", on: "alpha" }]);
    expect((await ask(unit)).status).toBe(404);
  });

  it("take what an agent says from the bytes of its mint, whatever else a provider shows", async () => {
    await env.DB.prepare("UPDATE registry_cursor SET last_checked_at = 0").run();
    await createSource(chain);
    const ask = () => get(`/registry/agent-identifier?network=Preprod&agentIdentifier=${unit}`);
    const asset = await chain.get<object>(`/assets/${unit}`);
    const [other] = await chain.act([
      { do: "mint", as: "other", version: V1, metadata: metadataOf("other") },
    ]);
    const show = (more: object) =>
      chain.faults({
        match: `/assets/${unit}$`,
        status: 200,
        body: JSON.stringify({ ...asset, ...more }),
      });
    await show({ onchain_metadata: metadataOf("forged") });
    expect(await ask()).toMatchObject({ status: 200, data: { Metadata: { name: "alpha" } } });
    await show({ initial_mint_tx_hash: other?.txHash });
    expect((await ask()).status).toBe(502);
  });
});
