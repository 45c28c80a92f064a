import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { insertKey } from "../support/keys.ts";
import {
  RegistrationFixture,
  type ShownRegistration,
} from "../support/registry/registration-fixture.ts";
import { diff, runJob, settleRegistry } from "../support/registry/registry-sync.ts";

beforeEach(emptyTables);

/** Everything of one registration that an audit or a log must not show stays out of them. */
async function auditActions(): Promise<string[]> {
  const { results } = await env.DB.prepare("SELECT action FROM audit ORDER BY id").all<{
    action: string;
  }>();
  return results.map(({ action }) => action);
}

describe.each(["Web3ChainV1", "Web3ChainV2"] as const)("an agent of %s", (type) => {
  it("is registered, found online, deregistered and gone, through HTTP only", async () => {
    const fixture = await RegistrationFixture.open({ type });
    const source = await fixture.followPolicy();
    const seen = async () => {
      await settleRegistry(fixture.chain, source);
      await runJob({ kind: "health", network: "Preprod", sourceId: source }, fixture.chain.url, {
        env: { LOOPBACK_ORIGINS: env.AGENTS_URL },
      });
      return (await diff()).map(({ agentIdentifier, name, status }) => ({
        agentIdentifier,
        name,
        status,
      }));
    };

    const requested = await fixture.register({
      name: "Ünïcode agent 🤖".repeat(10),
      apiBaseUrl: `${env.AGENTS_URL}/${type}`,
    });
    expect(requested).toMatchObject({
      status: 200,
      data: { state: "RegistrationRequested", agentIdentifier: "", CurrentTransaction: null },
    });
    const { id } = requested.data;

    await fixture.settle();
    const registered = await fixture.shown(id);
    expect(registered).toMatchObject({
      state: "RegistrationConfirmed",
      error: null,
      CurrentTransaction: { txHash: expect.stringMatching(/^[0-9a-f]{64}$/), status: "Confirmed" },
    });
    const { agentIdentifier } = registered;
    expect((await fixture.tokens()).held).toEqual([agentIdentifier]);
    expect(agentIdentifier).toMatch(
      type === "Web3ChainV1" ? /^[0-9a-f]{120}$/ : /^[0-9a-f]{56}10[0-9a-f]{56}000000$/,
    );
    const name = "Ünïcode agent 🤖".repeat(10);
    expect(await seen()).toEqual([{ agentIdentifier, name, status: "Online" }]);

    const asked = await fixture.deregister(agentIdentifier);
    expect(asked).toMatchObject({ status: 200, data: { id, state: "DeregistrationRequested" } });
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "DeregistrationConfirmed",
      error: null,
    });
    expect(await fixture.tokens()).toEqual({ minted: 1, burned: 1, held: [] });
    expect(await seen()).toEqual([{ agentIdentifier, name, status: "Deregistered" }]);

    const removed = await fixture.ask("DELETE", "/registry", { id });
    expect(removed).toMatchObject({ status: 200, data: { state: "DeregistrationConfirmed" } });
    expect((await fixture.ask("DELETE", "/registry", { id })).status).toBe(404);
    expect(await auditActions()).toEqual([
      "payment-source.create",
      "registry-source.create",
      "agent.register",
      "agent.deregister",
      "agent.delete",
    ]);
  });
});

describe("POST /registry", () => {
  it("sends the token and its funding to the recipient", async () => {
    const fixture = await RegistrationFixture.open();
    const recipient = fixture.sellers[1];
    const { data } = await fixture.register({
      recipientWalletAddress: recipient.address,
      sendFundingMinorUnit: "7000000",
    });
    expect(data.RecipientWallet).toEqual({
      walletVkey: recipient.vkey,
      walletAddress: recipient.address,
    });
    await fixture.settle();
    const { agentIdentifier } = await fixture.shown(data.id);
    const utxos = await fixture.chain.get<{ amount: { unit: string; quantity: string }[] }[]>(
      `/addresses/${recipient.address}/utxos`,
    );
    expect(utxos.map(({ amount }) => amount)).toContainEqual([
      { unit: "lovelace", quantity: "7000000" },
      { unit: agentIdentifier, quantity: "1" },
    ]);

    // The wallet that holds the token burns it.
    await fixture.deregister(agentIdentifier);
    await fixture.settle(recipient);
    expect(await fixture.shown(data.id)).toMatchObject({
      state: "DeregistrationConfirmed",
      SmartContractWallet: { walletVkey: recipient.vkey },
    });
  });

  it("answers 404 for a wallet that no source sells with, 400 for a recipient elsewhere", async () => {
    const fixture = await RegistrationFixture.open();
    const unknown = await fixture.register({ sellingWalletVkey: "ab".repeat(28) });
    expect(unknown).toMatchObject({ status: 404, message: expect.stringContaining("selling") });
    const contract = await fixture.register({ recipientWalletAddress: fixture.contract.address });
    expect(contract).toMatchObject({ status: 400, message: expect.stringContaining("recipient") });
  });

  it("takes an empty optional text as omitted", async () => {
    const fixture = await RegistrationFixture.open();
    const { status, data } = await fixture.register({
      Author: { name: "An author", organization: "", contactEmail: "", contactOther: "" },
      Legal: { privacyPolicy: "", terms: "", other: "" },
    });
    expect({ status, data }).toMatchObject({
      status: 200,
      data: {
        Author: { name: "An author", organization: null, contactEmail: null, contactOther: null },
        Legal: { privacyPolicy: null, terms: null, other: null },
      },
    });
  });

  it("registers once per Idempotency-Key", async () => {
    const fixture = await RegistrationFixture.open();
    const headers = { "idempotency-key": "one" };
    const [first, second] = await Promise.all([
      fixture.register({}, headers),
      fixture.register({}, headers),
    ]);
    expect(second.data).toEqual(first.data);
    await fixture.settle();
    // The first answer counts, whatever became of the wallet since.
    await env.DB.prepare("UPDATE managed_wallet SET deleted_at = 1").run();
    expect(await fixture.register({}, headers)).toEqual(first);
    expect(await fixture.tokens()).toMatchObject({ minted: 1 });
  });
});

describe("POST /registry with what the chain cannot take", () => {
  it.each([
    ["a tag of more than 64 bytes", { Tags: ["text", "ü".repeat(63)] }, /^Tags\[1\]: .*64 bytes/],
    ["an address with a query", { apiBaseUrl: "https://agent.example.com?a=b" }, /^apiBaseUrl: /],
    ...["ada", "ADA", `${"ab".repeat(28)}.74`, "ab".repeat(27), "ab".repeat(61)].map(
      (unit): [string, object, RegExp] => [
        `a price in ${unit}`,
        { AgentPricing: { pricingType: "Fixed", Pricing: [{ unit, amount: "5" }] } },
        new RegExp(`^AgentPricing\\.Pricing\\[0\\]\\.unit: must be .* not "${unit.slice(0, 40)}`),
      ],
    ),
  ])("answers 400 to %s", async (_, wrong, message) => {
    const fixture = await RegistrationFixture.open();
    expect(await fixture.register(wrong)).toMatchObject({
      status: 400,
      message: expect.stringMatching(message),
    });
  });
});

describe("GET /registry", () => {
  it("pages newest first, and filters by state, group, identifier and search", async () => {
    const fixture = await RegistrationFixture.open();
    const ids: string[] = [];
    for (const name of ["First", "Second", "Third"])
      ids.push((await fixture.register({ name })).data.id);
    await fixture.settle();
    await fixture.register({ name: "Fourth" });

    const list = async (query: string) => {
      const answer = await fixture.ask<{ Assets: ShownRegistration[] }>(
        "GET",
        `/registry?network=Preprod&${query}`,
      );
      return answer.data.Assets.map(({ name }) => name);
    };
    expect(await list("limit=2")).toEqual(["Fourth", "Third"]);
    expect(await list(`limit=2&cursorId=${ids[2]}`)).toEqual(["Second", "First"]);
    expect(await list("filterStatus=Registered")).toEqual(["Third", "Second", "First"]);
    expect(await list("filterStatus=Registered&filterState=RegistrationRequested")).toEqual([]);
    expect(await list("filterState=RegistrationRequested")).toEqual(["Fourth"]);
    expect(await list("searchQuery=IR")).toEqual(["Third", "First"]);
    const { agentIdentifier } = await fixture.shown(ids[1] ?? "");
    expect(await list(`filterAgentIdentifier=${agentIdentifier}`)).toEqual(["Second"]);
    expect(await list(`searchQuery=${ids[0]}`)).toEqual(["First"]);
    expect(await list("filterPaymentSourceType=Web3ChainV2")).toEqual([]);
    expect(await list(`filterSmartContractAddress=${fixture.contract.address}&limit=1`)).toEqual([
      "Fourth",
    ]);
  });
});

describe("an agent's identifier", () => {
  it("leads to its registration alone, to be listed and to be deregistered", async () => {
    const fixture = await RegistrationFixture.open();
    const { id } = (await fixture.register()).data;
    await fixture.settle();
    const { agentIdentifier } = await fixture.shown(id);
    const asked: string[] = [];
    fixture.bindings = {
      DB: wrapD1(env.DB, ({ kind, sql }, run) => {
        if (kind === "raw") asked.push(...sql.filter((one) => one.includes('from "registration"')));
        return run();
      }),
    };
    const query = `network=Preprod&filterAgentIdentifier=${agentIdentifier}`;
    expect((await fixture.ask("GET", `/registry?${query}`)).status).toBe(200);
    expect((await fixture.deregister(agentIdentifier)).status).toBe(200);
    expect(asked).toHaveLength(2);
    for (const sql of asked) expect(await planOf(sql)).toContain("registration_identifier");
  });
});

/** How D1 finds the rows of a statement. */
async function planOf(sql: string): Promise<string> {
  const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .bind(...Array((sql.match(/\?/g) ?? []).length).fill(null))
    .all<{ detail: string }>();
  return results.map(({ detail }) => detail).join("; ");
}

describe("DELETE /registry", () => {
  it("answers 403 to the key of somebody else, for a deregistration and for a removal", async () => {
    const fixture = await RegistrationFixture.open();
    const owner = { token: await insertKey({ canPay: true }) };
    const other = { token: await insertKey({ canPay: true }) };
    const { id } = (await fixture.register({}, owner)).data;
    await fixture.settle();
    const { agentIdentifier } = await fixture.shown(id);
    expect((await fixture.deregister(agentIdentifier, other)).status).toBe(403);
    expect((await fixture.deregister(agentIdentifier, owner)).status).toBe(200);
    await fixture.settle();
    expect((await fixture.ask("DELETE", "/registry", { id }, other)).status).toBe(403);
    expect((await fixture.ask("DELETE", "/registry", { id }, owner)).status).toBe(200);
  });

  it("takes no Idempotency-Key, which only POST /registry/deregister does", async () => {
    const fixture = await RegistrationFixture.open();
    const { id } = (await fixture.register()).data;
    await fixture.settle();
    const body = { agentIdentifier: (await fixture.shown(id)).agentIdentifier, network: "Preprod" };
    const headers = { "idempotency-key": "one" };
    const first = await fixture.ask("POST", "/registry/deregister", body, headers);
    expect(await fixture.ask("POST", "/registry/deregister", body, headers)).toEqual(first);
    expect(first.status).toBe(200);
    expect((await fixture.ask("DELETE", "/registry", body, headers)).status).toBe(409);
  });

  it("answers 409 in every state but the permitted ones, and changes nothing", async () => {
    const fixture = await RegistrationFixture.open();
    const { id } = (await fixture.register()).data;
    expect((await fixture.ask("DELETE", "/registry", { id })).status).toBe(409);
    await fixture.settle();
    const { agentIdentifier } = await fixture.shown(id);
    expect((await fixture.ask("DELETE", "/registry", { id })).status).toBe(409);
    expect((await fixture.deregister(agentIdentifier)).status).toBe(200);
    const again = await fixture.deregister(agentIdentifier);
    expect(again).toMatchObject({
      status: 409,
      message: expect.stringContaining("DeregistrationRequested"),
    });
    expect(await fixture.shown(id)).toMatchObject({ state: "DeregistrationRequested" });
  });

  it("answers 404 for an agent that was not registered here, or through another source", async () => {
    const fixture = await RegistrationFixture.open();
    expect((await fixture.deregister("ab".repeat(60))).status).toBe(404);
    const { id } = (await fixture.register()).data;
    await fixture.settle();
    const { agentIdentifier } = await fixture.shown(id);
    const elsewhere = await fixture.ask("POST", "/registry/deregister", {
      agentIdentifier,
      network: "Preprod",
      smartContractAddress: "addr_test1wother",
    });
    expect(elsewhere.status).toBe(404);
  });

  it("answers 409 when the token lies in a wallet that is not managed, 502 without a provider", async () => {
    const fixture = await RegistrationFixture.open();
    const { wallets } = await fixture.chain.wallets();
    const stranger = wallets.find(({ name }) => name === "stranger");
    const { id } = (await fixture.register({ recipientWalletAddress: stranger?.address })).data;
    await fixture.settle();
    const { agentIdentifier } = await fixture.shown(id);
    await fixture.chain.faults({ match: "/assets/", status: 500 });
    expect((await fixture.deregister(agentIdentifier)).status).toBe(502);
    await fixture.chain.faults();
    expect(await fixture.deregister(agentIdentifier)).toMatchObject({
      status: 409,
      message: expect.stringContaining("does not manage"),
    });
    expect(await fixture.shown(id)).toMatchObject({ state: "RegistrationConfirmed" });
  });
});
