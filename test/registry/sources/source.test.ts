import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { app, emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { countingD1 } from "../../support/d1.ts";
import { diff, metadataOf, runJob, V1, V2 } from "../../support/registry/registry-sync.ts";
import { type Profile, urlOf } from "../../support/sources/provider-list.ts";

let chain: TestChain;
let policyId: string;
/** Of which several tokens can be minted at once. */
let policyIdV2: string;

beforeEach(async () => {
  await emptyTables();
  chain = await TestChain.create();
  const { contracts } = await chain.wallets();
  policyId = contracts.find(({ type }) => type === V1)?.policyId ?? "";
  policyIdV2 = contracts.find(({ type }) => type === V2)?.policyId ?? "";
});

interface Answer {
  status: number;
  data: Record<string, unknown>;
  message: string | undefined;
}

async function ask(
  method: string,
  body: object | null,
  options: { headers?: object; env?: object } = {},
): Promise<Answer> {
  const asleep = { idFromName: (id: string) => id, get: () => ({ tick: async () => {} }) };
  const answer = await app.request(
    "/api/v1/registry-source/",
    {
      method,
      headers: { token: env.ADMIN_KEY ?? "", ...options.headers },
      ...(body && { body: JSON.stringify(body) }),
    },
    { ...env, BLOCKFROST_URL_PREPROD: chain.url, REGISTRY_CURSOR: asleep, ...options.env },
  );
  const json = (await answer.json()) as {
    data?: Record<string, unknown>;
    error?: { message: string };
  };
  return { status: answer.status, data: json.data ?? {}, message: json.error?.message };
}

const create = (overrides: object = {}, options?: Parameters<typeof ask>[2]) =>
  ask("POST", { network: "Preprod", policyId, rpcProviderApiKey: "key-1", ...overrides }, options);

async function sync(sourceId: string): Promise<void> {
  const job = { kind: "sync", network: "Preprod", sourceId } as const;
  for (let again: number | null = 0; again !== null; ) again = await runJob(job, chain.url);
}

const audited = async () =>
  (
    await env.DB.prepare("SELECT action FROM audit ORDER BY id").all<{ action: string }>()
  ).results.map(({ action }) => action);

describe("POST /registry-source/", () => {
  it("creates a source that is followed from its policy's first transaction", async () => {
    const { status, data } = await create({ note: "ours", url: "https://registry.example.com" });
    expect(status).toBe(200);
    expect(data).toEqual({
      id: expect.any(String),
      type: "Web3ChainV1",
      network: "Preprod",
      url: "https://registry.example.com",
      policyId,
      note: "ours",
      rpcProviderApiKey: "key-1",
      RpcProviders: [],
      RpcProviderOutages: [],
      latestPage: 1,
      latestIdentifier: null,
      error: null,
    });
    const [minted] = await chain.act([
      { do: "mint", as: "a", version: V1, metadata: metadataOf("a") },
    ]);
    await sync(String(data.id));
    expect((await ask("GET", null)).data).toEqual({
      sources: [{ ...data, latestIdentifier: minted?.txHash }],
    });
    expect(await diff()).toMatchObject([
      { name: "a", RegistrySource: { url: "https://registry.example.com" } },
    ]);
    expect(await audited()).toEqual(["registry-source.create"]);
  });

  it("stores the provider key sealed", async () => {
    await create({ rpcProviderApiKey: "very-secret-key" });
    const { results } = await env.DB.prepare("SELECT * FROM registry_source, audit").all();
    expect(JSON.stringify(results)).not.toContain("very-secret-key");
  });

  it("answers 409 for a policy that is a source already, and creates it once per Idempotency-Key", async () => {
    const options = { headers: { "idempotency-key": "once" } };
    const first = await create({}, options);
    expect(await create({}, options)).toEqual(first);
    const again = await create();
    expect(again).toMatchObject({
      status: 409,
      message: "policyId: a registry source already has this policy",
    });
    expect(await audited()).toHaveLength(1);
  });

  it("answers 400 when the provider lacks the history of a policy that was used", async () => {
    const onDolos = { env: { BLOCKFROST_URL_PREPROD: urlOf(chain, "dolos") } };
    await chain.act([{ do: "mint", as: "a", version: V1, metadata: metadataOf("a") }]);
    const { status, message } = await create({}, onDolos);
    expect([status, message]).toEqual([400, expect.stringContaining("lacks the redeemers")]);
    expect(await audited()).toEqual([]);
  });

  it("uses further providers that have the history of the policy", async () => {
    await chain.act([{ do: "mint", as: "a", version: V1, metadata: metadataOf("a") }]);
    const at = (profile: Profile) => ({
      rpcProvider: profile === "ogmios" ? "Ogmios" : "Blockfrost",
      url: urlOf(chain, profile),
    });
    for (const [profile, message] of [
      ["dolos", "RpcProviders[0]: Without the history of the policy no registry can be read."],
      ["ogmios", "RpcProviders[0]: the provider can do nothing"],
    ] as const)
      expect(await create({ RpcProviders: [at(profile)] })).toMatchObject({ status: 400, message });
    const RpcProviders = [{ ...at("ryo"), rpcProviderApiKey: "secret" }];
    const { data } = await create({ RpcProviders });
    const shown = [{ ...at("ryo"), rpcProviderApiKey: "*****cret", use: ["reads"] }];
    expect(data.RpcProviders).toEqual(shown);
    await chain.faults({ match: "^/", status: 500 });
    await sync(String(data.id));
    expect((await diff()).map(({ name }) => name)).toEqual(["a"]);
    expect((await ask("GET", null)).data.sources).toMatchObject([
      { RpcProviders: shown, RpcProviderOutages: [{ provider: 0, use: "reads" }], error: null },
    ]);
    await chain.faults();
    expect((await ask("PATCH", { id: data.id, RpcProviders: [] })).data.RpcProviders).toEqual([]);
  });

  it("answers 400 when the provider refuses the key, and writes nothing", async () => {
    await chain.faults({ match: "/blocks/latest", status: 403 });
    expect(await create()).toMatchObject({
      status: 400,
      message: "rpcProviderApiKey: the provider refuses this key on this network",
    });
    expect(await audited()).toEqual([]);
  });

  it("answers 409 for Mainnet in development, and 400 for the local policy outside it", async () => {
    expect((await create({ network: "Mainnet" })).status).toBe(409);
    const outside = await create({}, { env: { LOOPBACK_ORIGINS: "" } });
    expect(outside).toMatchObject({ status: 400, message: expect.stringMatching(/^policyId: /) });
  });
});

describe("GET /registry-source/", () => {
  it("shows why a source is not read, until it is", async () => {
    const { data } = await create();
    await chain.act([{ do: "mint", as: "a", version: V1, metadata: metadataOf("a") }]);
    const errors = async () => {
      await sync(String(data.id));
      const { sources } = (await ask("GET", null)).data as { sources: { error: string | null }[] };
      return sources.map(({ error }) => error);
    };
    await chain.faults({ match: "^/txs/", status: 404 });
    expect(await errors()).toEqual([
      expect.stringMatching(/^provider: does not have transaction [0-9a-f]{64}$/),
    ]);
    await chain.faults();
    expect(await errors()).toEqual([null]);
  });
});

describe("PATCH /registry-source/", () => {
  it("changes what is sent and keeps the rest", async () => {
    const { data } = await create({ note: "ours" });
    const renamed = await ask("PATCH", { id: data.id, note: "theirs" });
    expect(renamed.data).toEqual({ ...data, note: "theirs" });
    const keyed = await ask("PATCH", { id: data.id, rpcProviderApiKey: "key-2" });
    expect(keyed.data).toEqual({ ...data, note: "theirs", rpcProviderApiKey: "key-2" });
    expect((await ask("PATCH", { id: data.id, note: null })).data).toMatchObject({ note: "" });
    expect(await audited()).toEqual([
      "registry-source.create",
      ...Array(3).fill("registry-source.update"),
    ]);
  });

  it("answers 404 for a source that is unknown or removed", async () => {
    expect((await ask("PATCH", { id: "unknown", note: "" })).status).toBe(404);
    const { data } = await create();
    await ask("DELETE", { id: data.id });
    expect((await ask("PATCH", { id: data.id, note: "" })).status).toBe(404);
  });
});

describe("DELETE /registry-source/", () => {
  it("returns the source as it was, without type, and destroys its provider key", async () => {
    const { data } = await create({ note: "ours" });
    const { type: _, ...expected } = data;
    expect((await ask("DELETE", { id: data.id })).data).toEqual(expected);
    expect((await ask("GET", null)).data).toEqual({ sources: [] });
    const row = await env.DB.prepare(
      "SELECT rpc_provider_api_key AS k FROM registry_source",
    ).first();
    expect(row).toEqual({ k: "" });
    expect((await ask("DELETE", { id: data.id })).status).toBe(404);
    expect(await audited()).toEqual(["registry-source.create", "registry-source.remove"]);
  });

  it("deregisters its entries with new stamps, ends its sync, and lets the policy be added again", async () => {
    const { data } = await create();
    const id = String(data.id);
    const mint = (as: string) => ({ do: "mint", as, version: V1, metadata: metadataOf(as) });
    await chain.act([mint("a"), mint("b")]);
    await sync(id);
    const before = await diff();
    await ask("DELETE", { id });
    await chain.act([mint("c")]);
    await sync(id);
    const after = await diff();
    expect(after.map(({ name, status }) => [name, status]).sort()).toEqual([
      ["a", "Deregistered"],
      ["b", "Deregistered"],
    ]);
    expect(after[0] && before[1] && after[0].statusUpdatedAt > before[1].statusUpdatedAt).toBe(
      true,
    );

    const again = await create();
    expect(again.status).toBe(200);
    await sync(String(again.data.id));
    expect((await diff()).map(({ status }) => status)).toEqual([
      ...Array(2).fill("Deregistered"),
      ...Array(3).fill("Offline"),
    ]);
  });

  it("looks through its entries until they are deregistered, and no more", async () => {
    const { data } = await create({ policyId: policyIdV2 });
    const id = String(data.id);
    const tokens = Array.from({ length: 20 }, (_, i) => ({ metadata: metadataOf(`agent-${i}`) }));
    await chain.act([{ do: "mintAll", version: V2, tokens }]);
    await sync(id);
    await ask("DELETE", { id });
    await sync(id);
    const { d1, rowsRead } = countingD1(env.DB);
    await runJob({ kind: "sync", network: "Preprod", sourceId: id }, chain.url, {
      env: { DB: d1 },
    });
    expect(rowsRead()).toBeLessThanOrEqual(5);
  });

  it("hides its entries a month later", async () => {
    const { data } = await create();
    await chain.act([{ do: "mint", as: "a", version: V1, metadata: metadataOf("a") }]);
    await sync(String(data.id));
    await ask("DELETE", { id: data.id });
    await sync(String(data.id));
    await env.DB.prepare("UPDATE registry_cursor SET removed_at = removed_at - ?")
      .bind(31 * 24 * 3_600_000)
      .run();
    await sync(String(data.id));
    expect(await diff()).toEqual([]);
    const left = await env.DB.prepare("SELECT count(*) AS n FROM registry_cursor").first("n");
    expect(left).toBe(0);
  });
});
