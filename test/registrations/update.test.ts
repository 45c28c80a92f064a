import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { MIN_FUNDING } from "../../src/registrations/registration-profile.ts";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { FOREIGN_READERS } from "../support/registry/foreign-readers.ts";
import {
  RegistrationFixture,
  requested,
  UPDATED_ONCE,
  updating,
} from "../support/registry/registration-fixture.ts";
import { diff, runJob, settleRegistry } from "../support/registry/registry-sync.ts";

const V2 = "Web3ChainV2";

beforeEach(emptyTables);

/** An agent of Web3ChainV2 that is registered. */
async function registered(overrides: object = {}, headers: Record<string, string> = {}) {
  const fixture = await RegistrationFixture.open({ type: V2 });
  const { id } = (await fixture.register(overrides, headers)).data;
  await fixture.settle();
  return { fixture, id, agentIdentifier: (await fixture.shown(id)).agentIdentifier ?? "" };
}

/** The identifier of a token after so many updates. */
const versionOf = (agentIdentifier: string, version: number) =>
  `${agentIdentifier.slice(0, -6)}00000${version}`;

describe("POST /registry/update", () => {
  it("replaces the token in one transaction, again and again, until the agent is deregistered", async () => {
    const apiBaseUrl = `${env.AGENTS_URL}/${V2}`;
    const { fixture, id, agentIdentifier } = await registered({ apiBaseUrl });
    const [second, third] = [versionOf(agentIdentifier, 1), versionOf(agentIdentifier, 2)];

    const accepted = await fixture.update(agentIdentifier, { name: "Second", apiBaseUrl });
    expect(accepted).toMatchObject({
      status: 200,
      data: { id, state: "UpdateRequested", name: "Second", agentIdentifier },
    });
    await fixture.work();
    expect(await fixture.shown(id)).toMatchObject({ state: "UpdateInitiated", agentIdentifier });
    await fixture.settle();
    const updated = await fixture.shown(id);
    expect(updated).toMatchObject({
      state: "UpdateConfirmed",
      error: null,
      agentIdentifier: second,
    });
    expect(await fixture.tokens()).toEqual({ ...UPDATED_ONCE, held: [second] });
    const txHash = updated.CurrentTransaction?.txHash;
    for (const [asset, action] of [
      [agentIdentifier, "burned"],
      [second, "minted"],
    ])
      expect(await fixture.chain.get(`/assets/${asset}/history?order=desc&count=1`)).toMatchObject([
        { tx_hash: txHash, action },
      ]);

    expect((await fixture.update(agentIdentifier)).status).toBe(404);
    expect(await fixture.update(second, { name: "Third" })).toMatchObject({ status: 200 });
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "UpdateConfirmed",
      name: "Third",
      agentIdentifier: third,
    });
    expect((await fixture.deregister(third)).status).toBe(200);
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({ state: "DeregistrationConfirmed" });
    expect(await fixture.tokens()).toEqual({ minted: 3, burned: 3, held: [] });
  });

  it("mints metadata that other services read", async () => {
    const { fixture, id, agentIdentifier } = await registered();
    await fixture.update(agentIdentifier, {
      name: "Second",
      AgentPricing: { pricingType: "Free" },
    });
    await fixture.settle();
    const { agentIdentifier: second, CurrentTransaction } = await fixture.shown(id);
    const { onchain_metadata } = await fixture.chain.get<{ onchain_metadata: unknown }>(
      `/assets/${second}`,
    );
    expect(FOREIGN_READERS[V2].agent.parse(onchain_metadata)).toMatchObject({
      name: "Second",
      supported_payment_sources: [{ pricing: { pricingType: "Free" } }],
    });
    expect(await fixture.chain.get(`/txs/${CurrentTransaction?.txHash}/metadata`)).toContainEqual({
      label: "674",
      json_metadata: { msg: ["Masumi", "UpdateAgent"] },
    });
  });

  it("keeps the agent online in the registry", async () => {
    const apiBaseUrl = `${env.AGENTS_URL}/${V2}`;
    const { fixture, id, agentIdentifier } = await registered({ apiBaseUrl });
    const sourceId = await fixture.followPolicy();
    await settleRegistry(fixture.chain, sourceId);
    await runJob({ kind: "health", network: "Preprod", sourceId }, fixture.chain.url, {
      env: { LOOPBACK_ORIGINS: env.AGENTS_URL },
    });
    await fixture.update(agentIdentifier, { name: "Second", apiBaseUrl });
    await fixture.settle();
    await settleRegistry(fixture.chain, sourceId);
    const { agentIdentifier: second } = await fixture.shown(id);
    const entries = (await diff()).map(({ agentIdentifier: identifier, name, status }) => ({
      identifier,
      name,
      status,
    }));
    expect(entries).toHaveLength(2);
    expect(entries).toContainEqual({
      identifier: agentIdentifier,
      name: "An agent",
      status: "Deregistered",
    });
    expect(entries).toContainEqual({ identifier: second, name: "Second", status: "Online" });
  });

  it("sends the new token and its funding to the recipient, whose wallet updates it next", async () => {
    const { fixture, id, agentIdentifier } = await registered();
    const [, recipient] = fixture.sellers;
    await fixture.update(agentIdentifier, {
      recipientWalletAddress: recipient.address,
      sendFundingMinorUnit: "7000000",
    });
    await fixture.settle();
    const second = versionOf(agentIdentifier, 1);
    const utxos = await fixture.chain.get<{ amount: object[] }[]>(
      `/addresses/${recipient.address}/utxos`,
    );
    expect(utxos.map(({ amount }) => amount)).toContainEqual([
      { unit: "lovelace", quantity: "7000000" },
      { unit: second, quantity: "1" },
    ]);
    const { data } = await fixture.update(second);
    expect(data).toMatchObject({
      SmartContractWallet: { walletVkey: recipient.vkey },
      RecipientWallet: null,
      sendFundingMinorUnit: null,
    });
    await fixture.settle(recipient);
    expect(await fixture.shown(id)).toMatchObject({ state: "UpdateConfirmed" });
  });

  it("updates once per Idempotency-Key", async () => {
    const { fixture, agentIdentifier } = await registered();
    const headers = { "idempotency-key": "one" };
    const first = await fixture.update(agentIdentifier, {}, headers);
    await fixture.settle();
    expect(await fixture.update(agentIdentifier, {}, headers)).toEqual(first);
    expect(await fixture.tokens()).toMatchObject(UPDATED_ONCE);
  });
});

describe("POST /registry/update answers", () => {
  it("400 for an agent of Web3ChainV1, whose policy has no update", async () => {
    const { fixture, id } = await requested();
    await fixture.settle();
    const { agentIdentifier } = await fixture.shown(id);
    expect(await fixture.update(agentIdentifier)).toMatchObject({
      status: 400,
      message: expect.stringContaining("Web3ChainV1"),
    });
  });

  it("403 to the key of somebody else, and 404 for an agent that was not registered here", async () => {
    const owner = { token: await insertKey({ canPay: true }) };
    const other = { token: await insertKey({ canPay: true }) };
    const { fixture, agentIdentifier } = await registered({}, owner);
    expect((await fixture.update(agentIdentifier, {}, other)).status).toBe(403);
    expect((await fixture.update("ab".repeat(60), {}, owner)).status).toBe(404);
    const elsewhere = { smartContractAddress: "addr_test1wother" };
    expect((await fixture.update(agentIdentifier, elsewhere, owner)).status).toBe(404);
    expect((await fixture.update(agentIdentifier, {}, owner)).status).toBe(200);
  });

  it("409 in every state but the permitted ones, and for a token in an unmanaged wallet", async () => {
    const { fixture, id, agentIdentifier } = await registered();
    const { wallets } = await fixture.chain.wallets();
    const recipientWalletAddress = wallets.find(({ name }) => name === "stranger")?.address;
    expect((await fixture.update(agentIdentifier, { recipientWalletAddress })).status).toBe(200);
    expect(await fixture.update(agentIdentifier)).toMatchObject({
      status: 409,
      message: expect.stringContaining("UpdateRequested"),
    });
    await fixture.settle();
    const { agentIdentifier: second } = await fixture.shown(id);
    expect(await fixture.update(second)).toMatchObject({
      status: 409,
      message: expect.stringContaining("does not manage"),
    });
  });
});

describe("an update that fails", () => {
  it("leaves the token, returns what it charged, and can be requested again", async () => {
    const fixture = await RegistrationFixture.open({ type: V2 });
    const [, { address }] = fixture.sellers;
    const token = await insertKey({
      canPay: true,
      returnAddresses: [address],
      spendingLimits: [{ network: "Preprod", unit: "", amount: String(MIN_FUNDING) }],
    });
    const { id } = (await fixture.register({}, { token })).data;
    await fixture.settle();
    const { agentIdentifier } = await fixture.shown(id);
    const update = () =>
      fixture.update(agentIdentifier, { recipientWalletAddress: address }, { token });
    const spent = () => env.DB.prepare("SELECT spent FROM key_spending").first<number>("spent");
    await fixture.chain.faults({
      match: "/tx/submit",
      status: 400,
      body: '{"message":"FeeTooSmallUTxO"}',
    });
    expect((await update()).status).toBe(200);
    expect(await spent()).toBe(Number(MIN_FUNDING));
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "UpdateFailed",
      agentIdentifier,
      error: expect.stringContaining("FeeTooSmallUTxO"),
    });
    expect(await spent()).toBe(0);
    expect(await fixture.tokens()).toMatchObject({ minted: 1, burned: 0 });

    await fixture.chain.faults();
    expect((await update()).status).toBe(200);
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({ state: "UpdateConfirmed", error: null });
    expect(await spent()).toBe(Number(MIN_FUNDING));
  });
});

describe("a registration whose mint a rollback took back", () => {
  it("is minted again when the wallet notices this before a registry source", async () => {
    const { fixture, id, agentIdentifier } = await registered();
    const source = await fixture.followPolicy();
    await settleRegistry(fixture.chain, source);
    await fixture.chain.rollback(1);
    await fixture.chain.advance(15 * 60_000);
    await fixture.chain.mine(2);
    for (let turns = 0; turns < 2; turns++) {
      await fixture.settle();
      await settleRegistry(fixture.chain, source);
    }
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({ state: "RegistrationConfirmed" });
    expect(await fixture.tokens()).toMatchObject({ minted: 1, held: [agentIdentifier] });
  });
});

describe("an update that a rollback took back", () => {
  it("is looked for again, and confirmed again", async () => {
    const { fixture, id } = await updating();
    const { agentIdentifier } = await fixture.shown(id);
    const source = await fixture.followPolicy();
    await fixture.settle();
    await settleRegistry(fixture.chain, source);
    await fixture.chain.rollback(1);
    await fixture.chain.mine(2);
    await settleRegistry(fixture.chain, source);
    expect(await fixture.shown(id)).toMatchObject({ state: "UpdateInitiated" });
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "UpdateConfirmed",
      agentIdentifier: versionOf(agentIdentifier ?? "", 1),
    });
    expect(await fixture.tokens()).toMatchObject(UPDATED_ONCE);
  });

  it.each([
    ["the former token, once it can no longer land", 15 * 60_000, 0, { minted: 1, burned: 1 }],
    ["the new token, since the wallet sends it again", 0, 1, { minted: 2, burned: 2 }],
  ])("has a deregistration that was requested before burn %s", async (_, wait, version, tokens) => {
    const { fixture, id } = await updating();
    const { agentIdentifier } = await fixture.shown(id);
    const source = await fixture.followPolicy();
    await fixture.settle();
    await settleRegistry(fixture.chain, source);
    await fixture.deregister((await fixture.shown(id)).agentIdentifier);
    await fixture.chain.rollback(1);
    await fixture.chain.advance(wait);
    await fixture.chain.mine(2);
    await settleRegistry(fixture.chain, source);
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "DeregistrationConfirmed",
      agentIdentifier: versionOf(agentIdentifier ?? "", version),
    });
    expect(await fixture.tokens()).toEqual({ ...tokens, held: [] });
  });

  it("has a later update replace the former token, once it can no longer land", async () => {
    const { fixture, id } = await updating();
    const { agentIdentifier } = await fixture.shown(id);
    await fixture.settle();
    await fixture.update((await fixture.shown(id)).agentIdentifier, { name: "A third name" });
    await fixture.chain.rollback(1);
    await fixture.chain.advance(15 * 60_000);
    await fixture.chain.mine(2);
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "UpdateConfirmed",
      name: "A third name",
      agentIdentifier: versionOf(agentIdentifier ?? "", 1),
    });
    expect(await fixture.tokens()).toMatchObject(UPDATED_ONCE);
  });
});
