import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { MIN_FUNDING } from "../../src/registrations/registration-profile.ts";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import {
  RegistrationFixture,
  type ShownRegistration,
} from "../support/registry/registration-fixture.ts";

beforeEach(emptyTables);

const KINDS = [
  ["an agent", "/registry"],
  ["an inbox agent", "/inbox-agents"],
] as const;

/** A source whose first selling wallet a key is bound to, and whose second it is not. */
async function boundKey(options: { returnAddresses?: string[] } = {}) {
  const fixture = await RegistrationFixture.open();
  const idOf = (vkey: string) =>
    env.DB.prepare("SELECT id FROM managed_wallet WHERE vkey = ?").bind(vkey).first<string>("id");
  const [own, other] = fixture.sellers;
  const walletLimit = [(await idOf(own.vkey)) ?? ""];
  const token = await insertKey({ canPay: true, walletLimit, ...options });
  const register = (path: string, overrides: object, asked = token) =>
    fixture.ask(
      "POST",
      path,
      { ...fixture.agent(overrides), agentSlug: "an-agent" },
      { token: asked },
    );
  const list = async (path: string) => {
    const query = `${path}?network=Preprod`;
    return (await fixture.ask<{ Assets: ShownRegistration[] }>("GET", query, null, { token })).data
      .Assets;
  };
  return { fixture, own, other, token, register, list };
}

describe.each(KINDS)("A key that is bound to a wallet, registering %s,", (_, path) => {
  it("mints from its own wallet", async () => {
    const { own, register, list } = await boundKey();
    const { status, data } = await register(path, { sellingWalletVkey: own.vkey });
    expect(status).toBe(200);
    expect(await list(path)).toMatchObject([{ id: data.id }]);
  });

  it("finds another wallet as little as one that does not exist", async () => {
    const { fixture, other, register } = await boundKey();
    const refused = await register(path, { sellingWalletVkey: other.vkey });
    expect(refused.status).toBe(404);
    const unknown = await register(path, { sellingWalletVkey: "00".repeat(28) });
    expect(refused.message).toBe(unknown.message);
    await fixture.settle(other);
    expect(await fixture.tokens()).toMatchObject({ minted: 0 });
  });

  it("sends the token to no stranger's address", async () => {
    const { own, other, register } = await boundKey();
    const body = { sellingWalletVkey: own.vkey, recipientWalletAddress: other.address };
    const refused = await register(path, body);
    expect(refused.status).toBe(403);
    expect(refused.message).toMatch(/^recipientWalletAddress: /);
  });

  it("sends the token to one of its returnAddresses", async () => {
    const { fixture, own, other, register } = await boundKey();
    const token = await insertKey({ canPay: true, returnAddresses: [other.address] });
    const body = { sellingWalletVkey: own.vkey, recipientWalletAddress: other.address };
    expect((await register(path, body, token)).status).toBe(200);
    await fixture.settle(own);
    expect(await fixture.tokens()).toMatchObject({ minted: 1 });
  });

  it("sends no more of the native coin than the token's output needs", async () => {
    const { own, register } = await boundKey();
    const body = (amount: bigint) => ({
      sellingWalletVkey: own.vkey,
      sendFundingMinorUnit: String(amount),
    });
    const refused = await register(path, body(MIN_FUNDING + 1n));
    expect(refused.status).toBe(403);
    expect(refused.message).toMatch(/^sendFundingMinorUnit: must be at most 5000000/);
    expect((await register(path, body(MIN_FUNDING))).status).toBe(200);
    expect((await register(path, body(MIN_FUNDING + 1n), env.ADMIN_KEY)).status).toBe(200);
  });

  it("sees and ends no registration of another wallet", async () => {
    const { fixture, other, token, register, list } = await boundKey();
    const { data } = await register(path, { sellingWalletVkey: other.vkey }, env.ADMIN_KEY);
    await fixture.settle(other);
    expect(await list(path)).toEqual([]);
    const { agentIdentifier } = await fixture.shown(data.id, path);
    const end = (identifier: string | null) =>
      fixture.ask(
        "POST",
        `${path}/deregister`,
        { network: "Preprod", agentIdentifier: identifier },
        { token },
      );
    const [refused, unknown] = [await end(agentIdentifier), await end(`${"00".repeat(40)}`)];
    expect([refused.status, refused.message]).toEqual([404, unknown.message]);
  });
});

it("A key of another network removes a registration as little as one that does not exist", async () => {
  const { fixture, own, register } = await boundKey();
  const { data } = await register("/registry", { sellingWalletVkey: own.vkey }, env.ADMIN_KEY);
  const token = await insertKey({ canPay: true, networkLimit: ["Mainnet"] });
  const remove = (id: string) => fixture.ask("DELETE", "/registry", { id }, { token });
  const [refused, unknown] = [await remove(data.id), await remove("nothing")];
  expect([refused.status, refused.message]).toEqual([404, unknown.message]);
});

describe("A key with spendingLimits, registering an agent for one of its returnAddresses,", () => {
  async function limitedKey(amount: string) {
    const fixture = await RegistrationFixture.open();
    const [, { address }] = fixture.sellers;
    const token = await insertKey({
      canPay: true,
      returnAddresses: [address],
      spendingLimits: [{ network: "Preprod", unit: "", amount }],
    });
    const register = (overrides: object) => fixture.register(overrides, { token });
    const spent = () => env.DB.prepare("SELECT spent FROM key_spending").first<number>("spent");
    return { fixture, address, register, spent };
  }

  it("is charged what leaves the wallet, up to the limit", async () => {
    const { address, register, spent } = await limitedKey(String(2n * MIN_FUNDING - 1n));
    expect((await register({ recipientWalletAddress: address })).status).toBe(200);
    expect(await spent()).toBe(Number(MIN_FUNDING));
    const refused = await register({ recipientWalletAddress: address });
    expect([refused.status, refused.message]).toEqual([
      402,
      expect.stringMatching(/^recipientWalletAddress: .* spending limits do not cover the 5000000/),
    ]);
    expect(await spent()).toBe(Number(MIN_FUNDING));
    const { results } = await env.DB.prepare("SELECT id FROM registration").all();
    expect(results).toHaveLength(1);
  });

  it("is charged nothing for a token that stays in the wallet", async () => {
    const { fixture, register, spent } = await limitedKey("0");
    const [{ address }] = fixture.sellers;
    for (const recipientWalletAddress of [null, address])
      expect((await register({ recipientWalletAddress })).status).toBe(200);
    expect(await spent()).toBeNull();
  });

  it("gets the charge back, once, when no token is minted", async () => {
    const { fixture, address, register, spent } = await limitedKey(String(MIN_FUNDING));
    const { data } = await register({ recipientWalletAddress: address });
    await env.DB.prepare("UPDATE payment_source SET deleted_at = 1").run();
    await fixture.settle();
    expect(await fixture.shown(data.id)).toMatchObject({ state: "RegistrationFailed" });
    expect(await spent()).toBe(0);
    await fixture.settle();
    expect(await spent()).toBe(0);
  });

  it("keeps the charge while a transaction may still land", async () => {
    const { fixture, address, register, spent } = await limitedKey(String(MIN_FUNDING));
    await register({ recipientWalletAddress: address });
    await fixture.chain.faults({ match: "/tx/submit", truncate: true });
    await fixture.work();
    await env.DB.prepare("UPDATE payment_source SET deleted_at = 1").run();
    await fixture.settle();
    expect(await spent()).toBe(Number(MIN_FUNDING));
  });
});
