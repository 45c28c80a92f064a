/** What `npm start -- --troubles` has for an operator to end. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { until } from "../../devnet/client/wait.ts";
import { type Address, freePort, killCopies, ready, start, WAIT_MS } from "./copies.ts";

let service: Address;
beforeAll(async () => {
  service = await ready(start(await freePort(), "--troubles"));
});
afterAll(killCopies);

const api = <Data>(method: "GET" | "POST" | "PATCH", path: string, body?: object) =>
  ask<Data>({ url: service.url, token: service.adminKey }, method, path, body);

interface Endpoint {
  id: string;
  name: string;
  disabledAt: string | null;
}
interface Wallet {
  note: string;
  LowBalanceSummary: { isLow: boolean } | null;
}

it("has an endpoint that lost an event, which arrives once the endpoint is revived", async () => {
  const readLost = async () => {
    const { Webhooks } = await api<{ Webhooks: Endpoint[] }>("GET", "/webhooks");
    return Webhooks.find(({ name, disabledAt }) => name === "Lossy receiver" && disabledAt);
  };
  const { id: webhookId } = await until(readLost, { what: "a lost event", limitMs: WAIT_MS });
  const countFailed = async () => {
    const path = `/webhooks/deliveries?webhookId=${webhookId}&status=Failed`;
    return (await api<{ Deliveries: object[] }>("GET", path)).Deliveries.length;
  };
  expect(await countFailed()).toBe(1);
  await api("PATCH", "/webhooks", { webhookId, isActive: true });
  await api("POST", "/webhooks/deliveries/replay", { webhookId });
  await until(async () => (await countFailed()) === 0, { what: "the event", limitMs: WAIT_MS });
});

it("has a wallet below its threshold, beside a wallet that can fill it up", async () => {
  const readWallets = async () => {
    const { Wallets } = await api<{ Wallets: Wallet[] }>("GET", "/wallet/list?limit=100");
    return Wallets.some((one) => one.note === "Nearly empty" && one.LowBalanceSummary?.isLow)
      ? Wallets
      : null;
  };
  const wallets = await until(readWallets, { what: "the low wallet", limitMs: WAIT_MS });
  expect(wallets.map(({ note }) => note)).toContain("Reserve");
});

it("has a source with a second provider", async () => {
  const { ExtendedPaymentSources } = await api<{
    ExtendedPaymentSources: { paymentSourceType: string; RpcProviders: { url: string }[] }[];
  }>("GET", "/payment-source-extended?network=Preprod");
  const urls = Object.fromEntries(
    ExtendedPaymentSources.map(({ paymentSourceType, RpcProviders }) => [
      paymentSourceType,
      RpcProviders.map(({ url }) => url),
    ]),
  );
  expect(urls).toEqual({
    Web3ChainV1: [],
    Web3ChainV2: [expect.stringMatching(/[/]mirror[/]v0$/)],
  });
});
