import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { insertKey } from "../../support/keys.ts";
import { freshName, setName } from "../../support/names.ts";
import { api, expectOk, X402Fixture } from "../x402-fixture.ts";

interface Network {
  id: string;
  caip2Id: string;
  rpcUrl: string;
  isEnabled: boolean;
  updatedAt: string;
  [field: string]: unknown;
}

/** Nodes of two more chains, which are not configured to begin with. */
const BASE = `${env.EVM_URL}/8453-networks`;
const CELO = `${env.EVM_URL}/42220-networks`;
const FACTORY = `0x${"ab".repeat(20)}`;
/** Of a default asset that is no token. */
const NO_DECIMALS = { defaultAssetDecimals: null };

let x402: X402Fixture;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-networks");
});
beforeEach(async () => {
  await emptyTables();
  await x402.setUp();
});

const save = (body: object, headers = {}) => api<Network>("/x402/networks", body, headers);
const change = (body: object) => save({ caip2Id: x402.caip2, ...body });

async function networks(): Promise<Network[]> {
  return (await expectOk(await api<{ Networks: Network[] }>("/x402/networks"))).Networks;
}

const network = async (caip2Id = x402.caip2) =>
  (await networks()).find((one) => one.caip2Id === caip2Id);

describe("POST /x402/networks", () => {
  const created = { caip2Id: "eip155:8453", displayName: "Base", rpcUrl: BASE };

  it("creates a network, of which a name and a node are required", async () => {
    for (const field of ["displayName", "rpcUrl"])
      expect(await save({ ...created, [field]: undefined })).toMatchObject({
        status: 400,
        message: `${field}: is required`,
      });
    expect(await network("eip155:8453")).toBeUndefined();
    const base = await expectOk(await save(created));
    expect(base).toEqual({
      ...created,
      id: expect.any(String),
      isTestnet: false,
      isEnabled: true,
      defaultAsset: null,
      defaultAssetDecimals: null,
      facilitatorWalletId: null,
      facilitatorWalletIds: [],
      facilitatorWalletAddress: null,
      facilitatorUrl: null,
      hasFacilitatorAuth: false,
      canSettle: false,
      eip6492AllowedFactories: [],
      gasSponsoring: null,
      createdById: "env-admin",
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    await expectOk(await save({ ...created, caip2Id: "eip155:42220", rpcUrl: CELO }));
    const ids = (await networks()).map(({ caip2Id }) => caip2Id);
    expect(ids).toEqual(["eip155:42220", "eip155:8453", "eip155:84532"]);
    expect((await networks())[1]).toEqual(base);
  });

  it("saves once under one Idempotency-Key, and keeps the answer sealed", async () => {
    const headers = { "idempotency-key": "a-network" };
    const first = await expectOk(await save(created, headers));
    await expectOk(await save({ caip2Id: created.caip2Id, displayName: "Base, renamed" }));
    expect(await expectOk(await save(created, headers))).toEqual(first);
    expect(await network("eip155:8453")).toMatchObject({ displayName: "Base, renamed" });
    expect(await save({ ...created, isTestnet: true }, headers)).toMatchObject({ status: 422 });
    const row = await env.DB.prepare("SELECT * FROM idempotency").first();
    expect(JSON.stringify(row)).not.toContain(BASE);
  });

  it("refuses a node whose name resolves to an address that is not public", async () => {
    const name = freshName();
    await setName(name, ["10.0.0.7"]);
    const rpcUrl = `https://${name}/rpc`;
    for (const body of [
      { ...created, rpcUrl },
      { caip2Id: x402.caip2, rpcUrl },
    ])
      expect(await save(body)).toMatchObject({
        status: 400,
        message: "rpcUrl: must resolve to public addresses only",
      });
    expect(await network("eip155:8453")).toBeUndefined();
    expect(await network()).toMatchObject({ rpcUrl: x402.url });
  });

  it("makes one network of several creations at once", async () => {
    const names = ["a", "b", "c", "d"];
    const answers = await Promise.all(
      names.map((displayName) => save({ ...created, displayName })),
    );
    const ids = await Promise.all(answers.map(async (one) => (await expectOk(one)).id));
    expect(new Set(ids).size).toBe(1);
    expect(await network("eip155:8453")).toMatchObject({ id: ids[0], rpcUrl: BASE });
  });

  it.each([
    ["displayName", "Other"],
    ["isTestnet", false],
    ["isEnabled", false],
    ["defaultAsset", FACTORY],
    ["defaultAsset", null],
    ["eip6492AllowedFactories", [FACTORY]],
    ["eip6492AllowedFactories", []],
  ])("changes %s to %o and keeps everything else", async (field, value) => {
    const before = await network();
    const answer = await expectOk(await change({ [field]: value }));
    const changed = { [field]: value, ...(field === "defaultAsset" && NO_DECIMALS) };
    expect(answer).toEqual({ ...before, ...changed, updatedAt: expect.any(String) });
    expect(await network()).toEqual(answer);
    expect(answer[field]).not.toEqual(before?.[field]);
  });

  it("keeps every one of the changes that are made at once", async () => {
    const changes = [
      { displayName: "Other" },
      { isTestnet: false },
      { isEnabled: false },
      { defaultAsset: null },
      { facilitatorWalletId: null },
      { eip6492AllowedFactories: [FACTORY] },
    ];
    for (const answer of await Promise.all(changes.map(change))) await expectOk(answer);
    expect(await network()).toMatchObject(Object.assign({}, ...changes));
  });

  it("keeps who created it when another Admin changes it", async () => {
    const token = await insertKey({ permission: "Admin" });
    const answer = await expectOk(await save({ caip2Id: x402.caip2, isTestnet: false }, { token }));
    expect(answer.createdById).toBe("env-admin");
  });

  it("keeps the node's address sealed, and out of the audit", async () => {
    const { results } = await env.DB.prepare("SELECT rpc_url FROM x402_network").all();
    expect(JSON.stringify(results)).toMatch(/^\[\{"rpc_url":"v1\./);
    const audit = await env.DB.prepare("SELECT * FROM audit").all();
    expect(JSON.stringify(audit.results)).toContain("x402-network.save");
    expect(JSON.stringify([results, audit.results])).not.toContain(x402.url);
  });

  it.each([
    ["of another chain", BASE, 400],
    ["that does not speak JSON-RPC", `${env.EVM_URL}/nothing`, 502],
    ["on a private address", "http://10.0.0.1", 400],
    ["on this machine", "http://localhost:8545/key", 400],
    ["with a password", "https://a:b@node.example.com", 400],
    ["of another protocol", "ws://node.example.com", 400],
  ])("refuses a node %s, and changes nothing", async (_, rpcUrl, expected) => {
    const before = await networks();
    const { status, message } = await change({ rpcUrl, displayName: "Other" });
    expect(status).toBe(expected);
    if (expected === 400) expect(message).toContain("rpcUrl");
    expect(message).not.toContain(rpcUrl);
    expect(await networks()).toEqual(before);
  });

  it("takes a Selling wallet of the network for a facilitator, and no other", async () => {
    const wallet = (caip2Network: string, type: string) =>
      api<{ id: string; address: string }>("/x402/wallets", { caip2Network, type });
    await expectOk(await save(created));
    const foreign = await expectOk(await wallet("eip155:8453", "Selling"));
    const buying = await expectOk(await wallet(x402.caip2, "Purchasing"));
    const before = await network();
    for (const [facilitatorWalletId, expected] of [
      ["nowhere", 404],
      [foreign.id, 400],
      [buying.id, 400],
    ] as const)
      expect(await change({ facilitatorWalletId })).toMatchObject({
        status: expected,
        message: expect.stringContaining("facilitatorWalletId"),
      });
    expect(await network()).toEqual(before);
    const selling = await expectOk(await wallet(x402.caip2, "Selling"));
    expect(await expectOk(await change({ facilitatorWalletId: selling.id }))).toMatchObject({
      facilitatorWalletId: selling.id,
      facilitatorWalletAddress: selling.address,
    });
    expect(await expectOk(await change({ facilitatorWalletId: null }))).toMatchObject({
      facilitatorWalletId: null,
      facilitatorWalletAddress: null,
    });
  });
});

describe("the default asset of a network", () => {
  it("is that of its payment sources, with decimals as the token tells them", async () => {
    expect((await x402.source()).requirements).toMatchObject({
      asset: x402.contracts.token.toLowerCase(),
      extra: { name: "Test Dollar", version: "1", decimals: 6 },
    });
  });

  it.each([
    ["is not there", null],
    ["is no token", FACTORY],
  ])("that %s leaves payment sources to name their own", async (_, defaultAsset) => {
    await expectOk(await change({ defaultAsset }));
    const body = {
      url: "https://api.example.com",
      caip2Network: x402.caip2,
      amount: "1",
      payTo: FACTORY,
    };
    expect(await api("/x402/payment-sources", body)).toMatchObject({
      status: 400,
      message: expect.stringContaining("asset"),
    });
    const asset = x402.contracts.token;
    expect((await api("/x402/payment-sources", { ...body, asset })).status).toBe(200);
  });
});

describe("the decimals of the default asset", () => {
  const decimals = async () => (await network())?.defaultAssetDecimals;

  it("are read from the token when it is saved", async () => {
    expect(await decimals()).toBe(6);
    await expectOk(await change({ defaultAsset: null }));
    expect(await decimals()).toBeNull();
    await expectOk(await change({ defaultAsset: x402.contracts.token, defaultAssetDecimals: 6 }));
    expect(await decimals()).toBe(6);
  });

  it("are refused where the token has others", async () => {
    for (const body of [{}, { defaultAsset: x402.contracts.token }])
      expect(await change({ ...body, defaultAssetDecimals: 18 })).toMatchObject({
        status: 400,
        message: "defaultAssetDecimals: the token has 6 decimals",
      });
    expect(await decimals()).toBe(6);
  });
});

describe("GET /x402/networks", () => {
  it.each(["/x402/networks", "/x402/networks/available"])(
    "and its list for other keys are filtered by isTestnet: %s",
    async (path) => {
      await expectOk(await save({ caip2Id: "eip155:8453", displayName: "Base", rpcUrl: BASE }));
      const list = async (isTestnet: boolean) => {
        const answer = await api<{ Networks: Network[] }>(`${path}?isTestnet=${isTestnet}`);
        return (await expectOk(answer)).Networks.map(({ caip2Id }) => caip2Id);
      };
      expect(await list(true)).toEqual([x402.caip2]);
      expect(await list(false)).toEqual(["eip155:8453"]);
    },
  );
});

describe("GET /x402/networks/available", () => {
  it("lists the enabled networks of the key, without their nodes", async () => {
    await expectOk(await save({ caip2Id: "eip155:8453", displayName: "Base", rpcUrl: BASE }));
    await expectOk(await save({ caip2Id: "eip155:42220", displayName: "Celo", rpcUrl: CELO }));
    const available = async (networkLimit: string[]) => {
      const token = await insertKey({ canPay: true, networkLimit });
      const answer = await api<{ Networks: Network[] }>("/x402/networks/available", undefined, {
        token,
      });
      return (await expectOk(answer)).Networks;
    };
    const own = await available([x402.caip2, "eip155:8453"]);
    expect(own).toEqual([
      {
        id: (await network("eip155:8453"))?.id,
        caip2Id: "eip155:8453",
        displayName: "Base",
        isTestnet: false,
        defaultAsset: null,
        defaultAssetDecimals: null,
        canSettle: false,
      },
      {
        id: (await network())?.id,
        caip2Id: x402.caip2,
        displayName: "Local",
        isTestnet: true,
        defaultAsset: x402.contracts.token.toLowerCase(),
        defaultAssetDecimals: 6,
        canSettle: true,
      },
    ]);
    expect(await available([])).toEqual([]);
    await expectOk(await change({ isEnabled: false }));
    expect(await available([x402.caip2])).toEqual([]);
  });
});
