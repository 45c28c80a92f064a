import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import {
  RegistrationFixture,
  type ShownRegistration,
} from "../support/registry/registration-fixture.ts";
import { settleRegistry } from "../support/registry/registry-sync.ts";

beforeEach(emptyTables);

/** A fixture with three registered agents of its first wallet, and how to read changes. */
async function registered() {
  const fixture = await RegistrationFixture.open();
  const ids: string[] = [];
  for (const name of ["a", "b", "c"]) ids.push((await fixture.register({ name })).data.id);
  await fixture.settle();
  const diff = async (query: object = {}, token = env.ADMIN_KEY ?? "") => {
    const params = new URLSearchParams({ network: "Preprod", ...query });
    const path = `/registry/diff?${params}`;
    return (await fixture.ask<{ Assets: ShownRegistration[] }>("GET", path, null, { token })).data
      .Assets;
  };
  const count = async (query: object = {}, token = env.ADMIN_KEY ?? "") => {
    const params = new URLSearchParams({ network: "Preprod", ...query });
    return (await fixture.ask<object>("GET", `/registry/count?${params}`, null, { token })).data;
  };
  return { fixture, ids, diff, count };
}

const pointOf = (item: ShownRegistration | undefined) => ({
  lastUpdate: item?.registrationStateLastChangedAt,
  cursorId: item?.id,
});
const namesOf = (items: ShownRegistration[]) => items.map(({ name }) => name);

describe("GET /registry/diff", () => {
  it("pages through every registration by the last item's stamp and id", async () => {
    const { diff } = await registered();
    const [a, b, ...others] = await diff({ limit: 2 });
    expect(others).toEqual([]);
    expect(namesOf(await diff({ limit: 2, ...pointOf(a) }))).toEqual(["a", "b"]);
    expect(namesOf(await diff({ limit: 1, ...pointOf(b) }))).toEqual(["b", "c"]);
    expect(namesOf(await diff({ lastUpdate: pointOf(b).lastUpdate }))).toEqual(["b", "c"]);
  });

  it("returns a registration again for each change of its state, and for no other change", async () => {
    const { fixture, ids, diff } = await registered();
    const last = pointOf((await diff()).at(-1));
    await env.DB.prepare("UPDATE registration SET last_checked_at = last_checked_at + 1").run();
    expect(namesOf(await diff(last))).toEqual(["c"]);

    await fixture.deregister((await fixture.shown(ids[0] ?? "")).agentIdentifier);
    const [, requested] = await diff(last);
    expect(requested).toMatchObject({ name: "a", state: "DeregistrationRequested" });
    await fixture.work();
    const [initiated] = await diff(pointOf(requested));
    expect(initiated).toMatchObject({ name: "a", state: "DeregistrationInitiated" });
    await fixture.settle();
    const page = await diff(pointOf(initiated));
    expect(page).toMatchObject([{ name: "a", state: "DeregistrationConfirmed" }]);
  });

  it("returns a registration that a rollback reopened", async () => {
    const { fixture, diff } = await registered();
    const source = await fixture.followPolicy();
    await settleRegistry(fixture.chain, source);
    const last = pointOf((await diff()).at(-1));
    await fixture.chain.rollback(1);
    await fixture.chain.mine(2);
    await settleRegistry(fixture.chain, source);
    const reopened = (await diff(last)).filter(({ state }) => state === "RegistrationInitiated");
    expect(reopened.length).toBeGreaterThan(0);
  });
});

describe("GET /registry/count", () => {
  it("counts registrations by state", async () => {
    const { fixture, count } = await registered();
    await fixture.register({ name: "d" });
    expect(await count()).toEqual({
      total: 4,
      byState: [
        { state: "RegistrationConfirmed", count: 3 },
        { state: "RegistrationRequested", count: 1 },
      ],
    });
  });
});

describe("Diffs and counts of registrations", () => {
  it("are narrowed to a contract, a contract generation and the wallets of a key", async () => {
    const { fixture, diff, count } = await registered();
    const [, other] = fixture.sellers;
    await fixture.register({ name: "d", sellingWalletVkey: other.vkey });
    const sql = "SELECT id FROM managed_wallet WHERE vkey = ?";
    const walletId = await env.DB.prepare(sql).bind(other.vkey).first<string>("id");
    const bound = await insertKey({ walletLimit: [walletId ?? ""] });
    expect(namesOf(await diff({}, bound))).toEqual(["d"]);
    expect(await count({}, bound)).toMatchObject({ total: 1 });
    for (const [filter, total] of [
      [{ filterSmartContractAddress: fixture.contract.address }, 4],
      [{ filterSmartContractAddress: "addr_test1wother" }, 0],
      [{ filterPaymentSourceType: "Web3ChainV1" }, 4],
      [{ filterPaymentSourceType: "Web3ChainV2" }, 0],
    ] as const) {
      expect(await diff(filter)).toHaveLength(total);
      expect(await count(filter)).toMatchObject({ total });
    }
  });
});
