/**
 * An operator finds each of what can go wrong on the overview, and ends it there where it leads. The
 * service is the local one, whose past holds the troubles that take hours. Without a Chromium a line says so.
 */
import { hexToBytes } from "@noble/hashes/utils.js";
import { generateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { findChromium, launch, openConsole, show, signIn } from "../../devnet/client/console.ts";
import { until } from "../../devnet/client/wait.ts";
import { contractOf } from "../../devnet/contracts/index.ts";
import { act, lock } from "../../devnet/demo/actors/actions.ts";
import type { Metadatum } from "../../devnet/demo/actors/metadata.ts";
import { publishScripts } from "../../devnet/demo/actors/publish.ts";
import { mintToken } from "../../devnet/demo/actors/registry.ts";
import { buildTransaction } from "../../devnet/demo/actors/transaction.ts";
import { ADMIN, CASTS, STRANGER, type Wallet } from "../../devnet/demo/actors/wallets.ts";
import { handOver } from "../../devnet/demo/sources.ts";
import { buyJob } from "../../devnet/demo/trade.ts";
import { buy, createPayer } from "../../devnet/demo/x402/buyer.ts";
import { EvmUnavailable } from "../../devnet/evm/node.ts";
import { freshSecrets } from "../../devnet/secrets.ts";
import { type Service, startService } from "../../devnet/service.ts";
import { signCoseSign1 } from "../../src/chain/cose.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { deriveWalletKeys } from "../../src/chain/wallet-keys.ts";

const HOUR_MS = 3_600_000;
/** The last deadline of an escrow is 13 hours after it was locked. */
const PAST_MS = 14 * HOUR_MS;
const SIX_MINUTES_MS = 6 * 60_000;

const [SELLER_1, BUYER_1] = partiesOf("Web3ChainV1");
const [SELLER_2, BUYER_2] = partiesOf("Web3ChainV2");
const variables = freshSecrets();
const METADATA: Metadatum = {
  name: "Adviser",
  description: "Gives advice",
  api_base_url: "https://agent.example.com",
  capability: { name: "advice", version: "1.0.0" },
  author: { name: "An author" },
  tags: ["advice"],
  agentPricing: { pricingType: "Fixed", fixedPricing: [{ unit: [], amount: "5000000" }] },
  image: "ipfs://image",
  metadata_version: "1",
};

const chromium = findChromium();
if (chromium === null) console.log("no Chromium: no operator looks for troubles");

describe.runIf(chromium)("the overview leads to what ends", () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  let agent: string;

  beforeAll(async () => {
    service = await startService({
      variables,
      hasActors: true,
      begins: Date.now() - PAST_MS,
      log: () => {},
    });
    const { chain } = service;
    publishScripts(chain);
    agent = mintToken(chain, contractOf("Web3ChainV1"), SELLER_1, METADATA).unit;
    lock(chain, { version: "Web3ChainV1", seller: SELLER_1, buyer: BUYER_1 });
    const claimed = lock(chain, { version: "Web3ChainV2", seller: SELLER_2, buyer: BUYER_2 });
    act(chain, act(chain, claimed, "submitResult"), "requestRefund");
    chain.moveTo(Date.now());
    service.goLive();
    await driveOnly([]);
    browser = await launch(chromium ?? "");
    const tab = await openConsole(browser, service.url, { theme: "light", size: "desktop" });
    page = tab.page;
    await signIn(page, variables.ADMIN_KEY);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
  });

  const api = <Data>(method: "GET" | "POST" | "PATCH", path: string, body?: object) =>
    ask<Data>({ url: service.url, token: variables.ADMIN_KEY }, method, path, body);

  /** Wallets of the actors are watched alone, but for some; the sources drive what is left. */
  async function driveOnly(some: readonly Wallet[]): Promise<void> {
    const { Wallets } = await api<{ Wallets: { id: string; walletVkey: string }[] }>(
      "GET",
      "/wallet/list?limit=100",
    );
    for (const { id, walletVkey } of Wallets) {
      const isDriven = some.some(({ vkey }) => vkey === walletVkey);
      await api("PATCH", "/wallet", { id, drives: isDriven ? "all" : "nothing" });
    }
    await handOver({ url: service.url, token: variables.ADMIN_KEY });
  }

  const sources = () =>
    api<{ ExtendedPaymentSources: { id: string; paymentSourceType: PaymentSourceType }[] }>(
      "GET",
      "/payment-source-extended?network=Preprod",
    );
  const todo = (text: string | RegExp) => page.locator(".todo > li", { hasText: text });

  /** Follows what the overview says is wrong. */
  async function follow(text: string | RegExp): Promise<void> {
    await show(page, "#/overview");
    const line = todo(text).first();
    await line.waitFor();
    // A kind that has several lists each of them.
    const each = line.locator("summary");
    if ((await each.count()) > 0) await each.click();
    await line.getByRole("link").first().click();
  }

  async function isEnded(text: string | RegExp): Promise<void> {
    await show(page, "#/overview");
    await expect.poll(() => todo(text).count()).toBe(0);
  }

  /** Does an action of the page that is shown. */
  async function take(
    action: string,
    fill: (dialog: ReturnType<Page["getByRole"]>) => Promise<void>,
  ) {
    await page.getByRole("button", { name: action, exact: true }).click();
    const dialog = page.getByRole("dialog");
    await fill(dialog);
    await dialog.getByRole("button", { name: action, exact: true }).click();
  }

  async function drive(drives: string): Promise<void> {
    await take("Change", (dialog) =>
      dialog
        .getByLabel("Automation")
        .selectOption(drives)
        .then(() => undefined),
    );
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }

  test("a missed deadline: the wallet is driven again, and the refund comes", async () => {
    await follow("purchase missed its deadline");
    await page.getByText("The refund is automatic").waitFor();
    const { Wallets } = await api<{ Wallets: { id: string; walletVkey: string }[] }>(
      "GET",
      "/wallet/list?limit=100",
    );
    const buyer = Wallets.find(({ walletVkey }) => walletVkey === BUYER_1.vkey);
    await show(page, `#/wallets?on=${buyer?.id}`);
    await drive("finish");
    await isEnded(/missed its deadline/);
  });

  test("an unsigned dispute: a split is proposed, and signed with a wallet of the browser", async () => {
    await driveOnly([SELLER_2, BUYER_2]);
    await follow("dispute waits for a proposal");
    await take("Propose a split", (dialog) => dialog.getByLabel("The buyer gets").fill("4"));
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await follow("dispute lacks signatures");
    await page.exposeFunction("signedByAdmin", (payload: string) =>
      signCoseSign1(hexToBytes(payload), ADMIN.keys),
    );
    await page.evaluate((vkey) => {
      const answer = (value: unknown) => async () => value;
      const { signedByAdmin } = window as unknown as { signedByAdmin: (hex: string) => unknown };
      const enabled = {
        getChangeAddress: answer(`00${vkey}`),
        getUsedAddresses: answer([]),
        getUnusedAddresses: answer([]),
        signData: (_: string, payload: string) => signedByAdmin(payload),
      };
      Object.assign(window, { cardano: { its: { name: "Its wallet", enable: answer(enabled) } } });
    }, ADMIN.vkey);
    await take("Hand in a signature", async (dialog) => {
      await dialog.getByRole("button", { name: "Sign with Its wallet" }).click();
      await expect.poll(() => dialog.getByLabel("Key (hex)").inputValue()).toMatch(/^[0-9a-f]+$/);
    });
    await page.getByRole("dialog").getByText("Settle Requested").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await isEnded(/dispute (waits|lacks)/);
    const readSettled = async () => {
      const path = "/purchase?network=Preprod&filterOnChainState=DisputedWithdrawn";
      return (await api<{ Purchases: object[] }>("GET", path)).Purchases.length === 1;
    };
    await until(readSettled, { what: "a settled purchase" });
  });

  test("a purchase without funds: it is told what to send where, and cancelled", async () => {
    const { ExtendedPaymentSources } = await sources();
    const source = ExtendedPaymentSources.find(
      ({ paymentSourceType }) => paymentSourceType === "Web3ChainV1",
    );
    if (!source) throw new Error("there is no source of Web3ChainV1");
    await driveOnly([SELLER_1]);
    const fields = { network: "Preprod", paymentSourceId: source.id, walletType: "Purchasing" };
    await api("POST", "/wallet", { ...fields, note: "Empty purse", drives: "all" });
    const admin = { url: service.url, token: variables.ADMIN_KEY };
    await buyJob(admin, { ...source, agentIdentifier: agent });
    await show(page, "#/overview");
    await todo("Wallet Empty purse lacks").first().waitFor();
    await follow("purchase lacks funds");
    await page.getByText("The wallet lacks funds").waitFor();
    await take("Cancel purchase", (dialog) => dialog.getByLabel("I know").check());
    await page.getByText("It ended without a lock").waitFor();
    await isEnded("purchase lacks funds");
  });

  test("a wallet whose key is used elsewhere: it is driven no more", async () => {
    const purse = await addPurse("Shared purse");
    await arrives(await transfer(purse, "3000000"));
    const funds = [{ unit: "", amount: 150_000_000n }];
    const outputs = [{ address: STRANGER.address, funds }];
    service.chain.submit(buildTransaction(service.chain, { payer: purse, outputs }));
    await until(async () => service.chain.mempool().length === 0, { what: "a block" });
    // As much as there never was: the wallet looks at once for what has come meanwhile, and what is gone.
    await transfer(purse, "900000000");
    await follow("Wallet Shared purse is used elsewhere");
    await drive("nothing");
    await isEnded("Wallet Shared purse is used elsewhere");
  });

  /** A selling wallet whose outputs a transaction has made, and whose words others have too. */
  async function addPurse(name: string): Promise<Wallet> {
    const mnemonic = generateMnemonic(wordlist, 256);
    const keys = await deriveWalletKeys(mnemonic, "Preprod");
    const { address, vkey } = keys;
    const funds = [{ unit: "", amount: 100_000_000n }];
    const outputs = Array.from({ length: 4 }, () => ({ address, funds }));
    const { chain } = service;
    chain.submit(buildTransaction(chain, { payer: STRANGER, outputs }));
    await until(async () => chain.mempool().length === 0, { what: "a block" });
    const { ExtendedPaymentSources } = await sources();
    await api("POST", "/wallet", {
      network: "Preprod",
      paymentSourceId: ExtendedPaymentSources[0]?.id,
      walletType: "Selling",
      walletMnemonic: mnemonic,
      note: name,
      drives: "all",
    });
    return { name, mnemonic, keys, address, vkey };
  }

  /** Has the purse pay a stranger native minor units. */
  async function transfer({ address }: Wallet, minorUnitAmount: string): Promise<string> {
    const { id } = await api<{ id: string }>("POST", "/wallet/transfer-funds", {
      fromWalletAddress: address,
      toAddress: STRANGER.address,
      minorUnitAmount,
    });
    return id;
  }

  async function arrives(id: string): Promise<void> {
    const path = "/wallet/transfer-funds?network=Preprod";
    await until(
      async () => {
        const { transfers } = await api<{ transfers: { id: string; status: string }[] }>(
          "GET",
          path,
        );
        return transfers.find((one) => one.id === id)?.status === "Confirmed";
      },
      { what: "a transfer" },
    );
  }

  test("a settlement that is not resolved: its network is mended", async () => {
    if (service.x402 instanceof EvmUnavailable)
      return console.log(`no settlement is unresolved: ${service.x402.message}`);
    const { node, resource } = service.x402;
    const admin = { url: service.url, token: variables.ADMIN_KEY };
    const purse = await createPayer(admin, node);
    await node.rpc("evm_setAutomine", [false]);
    const bought = buy(resource.url, purse, "eip3009").catch(() => null);
    await until(
      async () => {
        const { PaymentAttempts } = await api<{ PaymentAttempts: object[] }>(
          "GET",
          "/x402/payments?status=Verified&direction=InboundSettle",
        );
        return PaymentAttempts.length === 1;
      },
      { what: "a verified payment" },
    );
    await page.clock.setFixedTime(Date.now() + SIX_MINUTES_MS);
    await follow("A settlement is unresolved");
    await page.getByRole("region").getByText("Verified").first().waitFor();
    await node.rpc("evm_mine");
    await node.rpc("evm_setAutomine", [true]);
    await bought;
    await isEnded("A settlement is unresolved");
  });

  test("a source with one provider: others are added in their order, checked and shown", async () => {
    const { ExtendedPaymentSources } = await sources();
    await show(page, `#/sources?on=${ExtendedPaymentSources[0]?.id}`);
    await page.getByRole("button", { name: "Change providers" }).click();
    const dialog = page.getByRole("dialog");
    const rowOf = (place: number) => dialog.getByRole("group", { name: `Provider ${place}` });
    const save = () => dialog.getByRole("button", { name: "Change providers" }).click();
    await dialog.getByRole("button", { name: "Add provider" }).click();
    await rowOf(1).getByLabel("URL").fill("http://127.0.0.1:9/api/v0");
    await save();
    await dialog
      .getByText(/^Provider 1, URL: /)
      .first()
      .waitFor();
    await rowOf(1).getByLabel("URL").fill(service.provider.replace("/api/", "/mirror/"));
    await dialog.getByRole("button", { name: "Add provider" }).click();
    await rowOf(2).getByLabel("Server").selectOption("Ogmios");
    await rowOf(2).getByLabel("URL").fill(service.provider.replace("/api/v0", "/ogmios"));
    await rowOf(2).getByLabel("Submits transactions").check();
    await dialog.getByRole("button", { name: "Move provider 2 up" }).click();
    await save();
    await dialog.waitFor({ state: "detached" });
    const host = new URL(service.provider).host;
    await page
      .locator(".opened dd", { hasText: `${host} (submits transactions), then ${host} (` })
      .waitFor();
    await page.getByRole("button", { name: "Change providers" }).click();
    expect(await rowOf(1).getByLabel("Server").inputValue()).toBe("Ogmios");
    expect(await rowOf(2).getByLabel("Provider key").inputValue()).toBe("");
    await rowOf(2).getByRole("button", { name: "Remove provider 2" }).click();
    await rowOf(1).getByRole("button", { name: "Remove provider 1" }).click();
    await save();
    await dialog.waitFor({ state: "detached" });
  });

  test("a source that lags: its provider's key is changed", async () => {
    service.faults.add({ status: 500 });
    await follow(/sources? lags?/);
    await take("Change", (dialog) => dialog.getByLabel("Provider key").fill("another key"));
    service.faults.clear();
    await isEnded(/sources? lags?/);
  });
});

function partiesOf(version: keyof typeof CASTS): [seller: Wallet, buyer: Wallet] {
  const [seller] = CASTS[version].sellers;
  const [buyer] = CASTS[version].buyers;
  if (!seller || !buyer) throw new Error("the demo has nobody to trade");
  return [seller, buyer];
}
