/** No key may do more here than the payment service would let it do, whatever body made it. */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { findCaller } from "../../src/api-keys/find-key.ts";
import { chargeSpending, requireSpending } from "../../src/api-keys/spending-limits.ts";
import { createToken } from "../../src/api-keys/token.ts";
import { NETWORKS, type Network } from "../../src/chain/network.ts";
import { openDb } from "../../src/db/client.ts";
import type { Env } from "../../src/env.ts";
import { emptyTables } from "../support/app.ts";
import { runs } from "../support/effort.ts";
import { PurchaseFixture } from "../support/escrow/purchase-fixture.ts";
import { type ExternalApp, startApp } from "./external-app.ts";
import { changedKey, newKey, type PeerBody, type PeerKey, rightsOf } from "./peer-key.ts";

const PRICE = 5_000_000;
const TOKEN = "ab".repeat(28);
const CHAINS = ["eip155:1", "eip155:8453"];
const UNITS = ["", TOKEN];
const AMOUNTS = [1, PRICE - 1, PRICE, 2 * PRICE];

let external: ExternalApp;
let bindings: Env;
let wallets: string[];
/** A purchase of the price on Preprod, which a wallet of the list would pay. */
let purchase: object;

beforeAll(async () => {
  external = await startApp("cardano");
  await emptyTables();
  const fixture = await PurchaseFixture.open();
  bindings = fixture.quotes.fixture.env();
  purchase = fixture.body(await fixture.quote());
  const { results } = await env.DB.prepare("SELECT id FROM managed_wallet").all<{ id: string }>();
  wallets = results.map(({ id }) => id);
});

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const flag = optional(fc.boolean());
const text = optional(fc.constantFrom("true" as const, "false" as const));
const subset = <T>(all: readonly T[]) => optional(fc.subarray([...all]));
const unit = fc.constantFrom("", "lovelace", TOKEN, TOKEN.toUpperCase());
const credits = (amounts: readonly number[]) =>
  fc.array(fc.record({ unit, amount: fc.constantFrom(...amounts.map(String)) }), { maxLength: 3 });

const settings = () => ({
  permission: optional(fc.constantFrom("Read" as const, "ReadAndPay" as const, "Admin" as const)),
  canRead: flag,
  canPay: flag,
  canAdmin: flag,
  usageLimited: text,
  NetworkLimit: subset(NETWORKS),
  ChainIdLimit: subset([...CHAINS, "cardano:mainnet", "cardano:preprod"]),
  walletScopeEnabled: text,
  WalletScopeHotWalletIds: subset(wallets),
});
/** Most bodies name few fields, so that few are refused. */
const sparse = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc
    .record(fields)
    .chain((body) =>
      fc
        .subarray(Object.keys(body))
        .map((names) => Object.fromEntries(names.map((name) => [name, body[name]])) as PeerBody),
    );
const bodyOfNew = () =>
  fc
    .tuple(sparse(settings()), credits([0, ...AMOUNTS]))
    .map(([body, UsageCredits]) => ({ ...body, UsageCredits }));
const bodyOfChange = () =>
  sparse({
    ...settings(),
    status: optional(fc.constantFrom("Active" as const, "Revoked" as const)),
    UsageCreditsToAddOrRemove: optional(credits(AMOUNTS.flatMap((one) => [one, -one]))),
  });
/** A change of the key, or an amount that it spends. */
const step = () =>
  fc.oneof(
    bodyOfChange().map((body) => ({ body })),
    fc.record({
      network: fc.constantFrom(...NETWORKS),
      unit: fc.constantFrom(...UNITS),
      amount: fc.constantFrom(...AMOUNTS),
    }),
  );

const request = (method: string, path: string, token?: string, body?: object) =>
  external.request(method, `/api/v1${path}`, {
    env: bindings,
    ...(token && { token }),
    ...(body && { body }),
  });

/** What the service lets a key do, as it answers the key's requests. */
async function rightsHere(token: string) {
  const may = async (...[method, path, body]: [string, string, object?]) =>
    ![401, 403].includes((await request(method, path, token, body)).status);
  const reads = await Promise.all(
    NETWORKS.map((network) => may("GET", `/payment?network=${network}`)),
  );
  const ownWallet = (caip2Network: string) => ({ caip2Network, type: "Purchasing" });
  const chains = await Promise.all(
    CHAINS.map((chain) => may("POST", "/x402/wallets", ownWallet(chain))),
  );
  const list = await request("GET", "/wallet/list?limit=100", token);
  const canPay = list.status === 200;
  const caller = await findCaller(bindings, token, Date.now() + 10_000, async () => {});
  const covers = async (network: Network, unit: string, amount: number) =>
    caller !== null &&
    (await requireSpending(openDb(env), caller, network, [{ unit, amount: BigInt(amount) }]).then(
      () => true,
      () => false,
    ));
  const readable = NETWORKS.filter((_, i) => reads[i]);
  const spends = [];
  for (const network of canPay ? readable : [])
    for (const unit of UNITS)
      for (const amount of AMOUNTS)
        if (await covers(network, unit, amount)) spends.push(`${network} ${unit} ${amount}`);
  return {
    reads: readable,
    chains: canPay ? CHAINS.filter((_, i) => chains[i]) : [],
    isAdmin: await may("GET", "/audit"),
    canPay,
    wallets: canPay ? (list.data.Wallets as { id: string }[]).map(({ id }) => id) : [],
    spends,
    buys: (await request("POST", "/purchase/verify", token, purchase)).status === 200,
  };
}

/** Everything that the key may do here, it may do there. */
async function expectNoMore(key: PeerKey, token: string): Promise<void> {
  const here = await rightsHere(token);
  const there = rightsOf(key, { wallets, chains: CHAINS });
  expect(there.reads).toEqual(expect.arrayContaining(here.reads));
  expect(there.chains).toEqual(expect.arrayContaining(here.chains));
  expect(there.wallets).toEqual(expect.arrayContaining(here.wallets));
  if (here.isAdmin) expect(there.isAdmin).toBe(true);
  if (here.canPay) expect(there.canPay).toBe(true);
  for (const spend of here.spends) {
    const [network = "", unit = "", amount] = spend.split(" ");
    expect([spend, there.covers(network as Network, unit, Number(amount))]).toEqual([spend, true]);
  }
  if (here.buys) expect(there.canPay && there.covers("Preprod", "", PRICE)).toBe(true);
}

/** Spends an amount where the key may; whether it did. */
async function spend(token: string, network: Network, unit: string, amount: number) {
  const caller = await findCaller(bindings, token, Date.now() + 10_000, async () => {});
  if (!caller?.canPay || !(caller.networkLimit?.includes(network) ?? true)) return false;
  const charges = chargeSpending(caller, network, [{ unit, amount: BigInt(amount) }]);
  if (charges.length === 0) return true;
  return openDb(env)
    .batch(charges)
    .then(
      () => true,
      () => false,
    );
}

it("a key buys as far as its credits go", async () => {
  const credits = (amount: number) => [{ unit: "lovelace", amount: String(amount) }];
  const body = { permission: "ReadAndPay", UsageCredits: credits(PRICE) };
  const { data: key } = await request("POST", "/api-key", undefined, body);
  const verify = async (token: string) =>
    (await request("POST", "/purchase/verify", token, purchase)).status;
  expect(await verify(key.token)).toBe(200);
  for (const [amount, status] of [
    [-1, 402],
    [1, 200],
  ] as const) {
    const change = { id: key.id, UsageCreditsToAddOrRemove: credits(amount) };
    expect((await request("PATCH", "/api-key", undefined, change)).status).toBe(200);
    expect(await verify(key.token)).toBe(status);
  }
});

/** Credits are taken from a key while it lacks a network, which it gets back. */
const WITHOUT_A_NETWORK_FOR_A_TIME: [
  PeerBody & { UsageCredits: { unit: string; amount: string }[] },
  { body: PeerBody }[],
] = [
  { permission: "ReadAndPay", UsageCredits: [{ unit: "", amount: String(PRICE) }] },
  [
    { body: { NetworkLimit: ["Preprod"] } },
    { body: { UsageCreditsToAddOrRemove: [{ unit: "", amount: "-1" }] } },
    { body: { NetworkLimit: ["Preprod", "Mainnet"] } },
  ],
];

it("a key never may do more than the bodies that made it allow there", async () => {
  let made = 0;
  await fc.assert(
    fc.asyncProperty(
      bodyOfNew(),
      fc.array(step(), { minLength: 1, maxLength: 4 }),
      async (body, steps) => {
        const answer = await request("POST", "/api-key", undefined, body);
        let key = newKey(body);
        if (answer.status !== 200) return;
        made++;
        expect(key).not.toBe(null);
        if (key === null) return;
        const { id } = answer.data;
        let { token } = answer.data as { token: string };
        await expectNoMore(key, token);
        for (const one of steps) {
          if ("amount" in one) {
            const { network, unit, amount } = one;
            if (!(await spend(token, network, unit, amount))) continue;
            expect(rightsOf(key, { wallets, chains: CHAINS }).covers(network, unit, amount)).toBe(
              true,
            );
            key = key.isLimited ? key.spend(network, unit, amount) : key;
            continue;
          }
          // Another token each time, since the service remembers what a token may do for some seconds.
          const next = createToken("User");
          const { status } = await request("PATCH", "/api-key", undefined, {
            id,
            token: next,
            ...one.body,
          });
          if (status !== 200) continue;
          token = next;
          const changed = changedKey(key, one.body);
          expect([one.body, changed]).not.toEqual([one.body, null]);
          if (changed === null) return;
          key = changed;
          await expectNoMore(key, token);
        }
      },
    ),
    { ...runs(10, 400), examples: [WITHOUT_A_NETWORK_FOR_A_TIME] },
  );
  // Else the property would say little.
  expect(made).toBeGreaterThan(2);
});
