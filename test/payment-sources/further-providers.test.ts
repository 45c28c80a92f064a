import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { BudgetObject } from "../../src/sources/provider.ts";
import { emptyTables } from "../support/app.ts";
import { objectsLike } from "../support/objects.ts";
import { SourceApi, storedSources } from "../support/sources/api.ts";
import { forgetOutages, urlOf } from "../support/sources/provider-list.ts";

let api: SourceApi;

beforeAll(async () => {
  api = await SourceApi.open();
});
beforeEach(emptyTables);
afterEach(() => api.chain.faults());

const KEY = "second-provider-key";
const mirror = () => ({
  rpcProvider: "Blockfrost",
  url: urlOf(api.chain, "mirror"),
  rpcProviderApiKey: KEY,
});
const ogmios = () => ({ rpcProvider: "Ogmios", url: urlOf(api.chain, "ogmios") });
const dolos = () => ({ rpcProvider: "Blockfrost", url: urlOf(api.chain, "dolos") });

describe("RpcProviders of a payment source", () => {
  it("are stored sealed, shown masked and in order, with what each can do", async () => {
    const { status, data } = await api.create({ RpcProviders: [dolos(), ogmios(), mirror()] });
    expect(status).toBe(200);
    const all = ["reads", "evaluate", "submit"];
    const shown = [
      { ...dolos(), rpcProviderApiKey: "", use: ["reads", "submit"] },
      { ...ogmios(), rpcProviderApiKey: "", use: ["evaluate", "submit"] },
      { ...mirror(), rpcProviderApiKey: "*****-key", use: all },
    ];
    expect(data.RpcProviders).toEqual(shown);
    const list = await api.list();
    expect(list.data.ExtendedPaymentSources[0].RpcProviders).toEqual(shown);
    const stored = await storedSources();
    for (const secret of [KEY, urlOf(api.chain, "dolos")]) expect(stored).not.toContain(secret);
    expect(
      (await api.ask("GET", "/api/v1/payment-source/")).data.PaymentSources[0],
    ).not.toHaveProperty("RpcProviders");
  });

  it("are replaced as a whole, and keep a key that is left out", async () => {
    const { data: source } = await api.create({ RpcProviders: [mirror()] });
    const { id } = source;
    const { rpcProviderApiKey: _, ...keyless } = mirror();
    const both = await api.update({ id, RpcProviders: [ogmios(), keyless] });
    expect(both.data.RpcProviders.map((one: typeof source) => one.rpcProviderApiKey)).toEqual([
      "",
      "*****-key",
    ]);
    expect((await api.update({ id })).data.RpcProviders).toEqual(both.data.RpcProviders);
    expect((await api.update({ id, RpcProviders: [] })).data.RpcProviders).toEqual([]);
  });

  it.each([
    ["a private host", { url: "https://10.0.0.1/api/v0" }, /must have a public host name/],
    ["another scheme", { url: "http://chain.example/api/v0" }, /must be an https URL/],
    ["Ogmios without a URL", { rpcProvider: "Ogmios" }, /url: the deployment has no Ogmios/],
    ["the deployment's provider without a key", {}, /rpcProviderApiKey/],
    ["reads from Ogmios", { rpcProvider: "Ogmios", url: "u", use: ["reads"] }, /is not for reads/],
  ])("are refused: %s", async (_, entry, message) => {
    const RpcProviders = [{ rpcProvider: "Blockfrost", ...entry }];
    const refused = await api.create({ RpcProviders });
    expect(refused.status).toBe(400);
    expect(refused.message).toMatch(message);
    expect(refused.message).toMatch(/^RpcProviders\[0\]/);
  });

  it("are refused with a use that the check finds missing, in a sentence", async () => {
    const ryo = {
      rpcProvider: "Blockfrost",
      url: urlOf(api.chain, "ryo"),
      use: ["reads", "submit"],
    };
    const refused = await api.create({ RpcProviders: [ryo] });
    expect([refused.status, refused.message]).toEqual([
      400,
      "RpcProviders[0]: Another provider must submit transactions.",
    ]);
  });

  it.each([
    ["reads", "/blocks/latest", /Without the tip/],
    ["reads", "/txs/.*/cbor", /Without the bytes of transactions/],
    ["reads", "/epochs/latest/parameters", /Without the protocol parameters/],
    ["evaluate", "/utils", /Another provider must evaluate/],
    ["submit", "/tx/submit", /Another provider must submit/],
  ])("are not used for %s, and refused for it, without %s", async (purpose, path, message) => {
    await api.chain.faults({ match: `^mirror:${path}`, status: 404 });
    const refused = await api.create({ RpcProviders: [{ ...mirror(), use: [purpose] }] });
    expect(refused.message).toMatch(message);
    await forgetOutages(api.chain, "mirror");
    const { data } = await api.create({ RpcProviders: [mirror()] });
    const [{ use }] = data.RpcProviders;
    expect(use).toEqual(["reads", "evaluate", "submit"].filter((one) => one !== purpose));
  });

  it("are refused when they follow another network", async () => {
    const body = JSON.stringify({ network_magic: 2 });
    await api.chain.faults({ match: "^mirror:/genesis", status: 200, body });
    const refused = await api.create({ RpcProviders: [mirror()] });
    expect([refused.status, refused.message]).toEqual([
      400,
      "RpcProviders[0]: It is no provider of this network: it cannot be used.",
    ]);
  });

  it("serve a request while the first one does not, and the record tells of the outage", async () => {
    await forgetOutages(api.chain);
    const { data } = await api.create({ ...api.selling(), RpcProviders: [mirror()] });
    const { walletAddress } = data.SellingWallets[0];
    await api.chain.faults({ match: "^/", status: 500 });
    const path = `/api/v1/utxos?network=Preprod&address=${walletAddress}`;
    const answer = await api.ask("GET", path);
    expect(answer.status).toBe(200);
    const [source] = (await api.list()).data.ExtendedPaymentSources;
    expect(source.RpcProviderOutages).toEqual([
      {
        provider: 0,
        use: "reads",
        since: expect.stringMatching(/Z$/),
        reason: expect.stringContaining("status 500"),
      },
    ]);
  });
});

describe("the first provider of a source", () => {
  it("must have the bytes of the contract's transactions", async () => {
    await api.chain.faults({ match: "^/txs/.*/cbor", status: 404 });
    const refused = await api.create();
    expect([refused.status, refused.message]).toEqual([
      400,
      expect.stringContaining("lacks the bytes of transactions"),
    ]);
    await api.chain.faults();
    const { data } = await api.create();
    await api.chain.faults({ match: "^/txs/.*/cbor", status: 404 });
    const PaymentSourceConfig = { rpcProviderApiKey: "another-key" };
    expect((await api.update({ id: data.id, PaymentSourceConfig })).status).toBe(400);
  });
});

describe("POST /payment-source-extended/provider/check", () => {
  const check = async (entry: object) => {
    const { data } = await api.ask("POST", "/api/v1/payment-source-extended/provider/check", {
      network: "Preprod",
      smartContractAddress: api.contract().address,
      ...entry,
    });
    return Object.fromEntries(
      data.Capabilities.map(({ capability, state }: Record<string, string>) => [capability, state]),
    );
  };
  const READER = {
    network: "known",
    tip: "known",
    addressHistory: "known",
    transactionBytes: "known",
    unspentOutputs: "known",
    protocolParameters: "known",
  };

  it.each([
    ["mirror", { ...READER, evaluate: "known", submit: "known" }],
    ["ryo", { ...READER, evaluate: "absent", submit: "absent" }],
    ["dolos", { ...READER, evaluate: "absent", submit: "known" }],
    ["platform", { ...READER, evaluate: "absent", submit: "known" }],
    [
      "ogmios",
      { network: "known", protocolParameters: "known", evaluate: "known", submit: "known" },
    ],
  ] as const)("tells the server apart by what it can do: %s", async (profile, states) => {
    const rpcProvider = profile === "ogmios" ? "Ogmios" : "Blockfrost";
    expect(await check({ rpcProvider, url: urlOf(api.chain, profile) })).toEqual(states);
  });

  it("reaches a private host only if the deployment lists its origin", async () => {
    const body = { network: "Preprod", rpcProvider: "Ogmios", url: urlOf(api.chain, "ogmios") };
    const { origin } = new URL(api.chain.url);
    const askWith = (PROVIDER_ORIGINS: string) =>
      api.ask("POST", "/api/v1/payment-source-extended/provider/check", body, {
        env: { LOOPBACK_ORIGINS: "", PROVIDER_ORIGINS },
      });
    const { data } = await askWith(`https://other.example,${origin}`);
    expect(data.Capabilities[0]).toMatchObject({ capability: "network", state: "known" });
    expect((await askWith("https://other.example")).status).toBe(400);
  });

  it("says that it is unknown what a silent provider can do", async () => {
    await api.chain.faults({ match: "^mirror:", status: 500 });
    expect(new Set(Object.values(await check(mirror())))).toEqual(new Set(["unknown"]));
  });
});

describe("a read of the chain while the object of a key's calls fails", () => {
  const failing = (calls: Partial<Record<"readOutages" | "lease", true>>) => ({
    PROVIDER_BUDGET: objectsLike("PROVIDER_BUDGET", (id) => {
      const object = env.PROVIDER_BUDGET.get(id) as unknown as BudgetObject;
      const fail = async () => {
        throw new Error("Durable Object reset because its code was updated.");
      };
      return {
        readOutages: calls.readOutages ? fail : () => object.readOutages(),
        lease: calls.lease ? fail : (...request: [number]) => object.lease(...request),
        recordCall: () => Promise.resolve({}),
      };
    }),
  });
  const read = async (bindings: object) => {
    const { data } = await api.create({ ...api.selling(), RpcProviders: [mirror()] });
    const { walletAddress } = data.SellingWallets[0];
    const path = `/api/v1/utxos?network=Preprod&address=${walletAddress}`;
    return api.ask("GET", path, null, { env: bindings });
  };

  it("is answered without what was known of outages", async () => {
    expect((await read(failing({ readOutages: true }))).status).toBe(200);
  });

  it("says when to come back if the object leases no calls", async () => {
    const answer = await read(failing({ lease: true }));
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("2");
  });
});
