/** Each step of an escrow's own page in Chromium, until the page shows what came of it; where there is none, a line says so. */
import { text } from "node:stream/consumers";
import { Client, preprod, TransactionWitnessSet } from "@evolution-sdk/evolution";
import { generateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Side } from "../../console/pages/escrow/sides.ts";
import { listAllActions } from "../../console/pages/escrow/steps.ts";
import { toWords } from "../../console/ui/words.ts";
import { ask } from "../../devnet/client/api.ts";
import { findChromium, launch, openConsole, show, signIn } from "../../devnet/client/console.ts";
import { until } from "../../devnet/client/wait.ts";
import { contractOf } from "../../devnet/contracts/index.ts";
import { act, lock } from "../../devnet/demo/actors/actions.ts";
import type { Escrow } from "../../devnet/demo/actors/escrow.ts";
import type { Metadatum } from "../../devnet/demo/actors/metadata.ts";
import { publishScripts } from "../../devnet/demo/actors/publish.ts";
import { mintToken } from "../../devnet/demo/actors/registry.ts";
import { ADMIN, CASTS, type Wallet } from "../../devnet/demo/actors/wallets.ts";
import { handOver } from "../../devnet/demo/sources.ts";
import { buyJob } from "../../devnet/demo/trade.ts";
import { freshSecrets } from "../../devnet/secrets.ts";
import { type Service, startService } from "../../devnet/service.ts";
import type { OnChainState, PaymentSourceType } from "../../src/chain/network.ts";
import { deriveWalletKeys } from "../../src/chain/wallet-keys.ts";

const HOUR_MS = 3_600_000;
/** Blocks come every two seconds; a step takes a few of them. */
const STEP_MS = 60_000;
/** Long enough for every cooldown, and before any deadline of the last that is locked. */
const PAST_MS = 2 * HOUR_MS;
const JUST_NOW_MS = 5 * 60_000;

// No step is automatic, so the test must request every step.
const variables = {
  ...freshSecrets(),
  AUTO_WITHDRAW_PAYMENTS: "false",
  AUTO_WITHDRAW_REFUNDS: "false",
};

/** An agent whose price no wallet can pay. */
const DEAR: Metadatum = {
  name: "Adviser",
  description: "Gives advice",
  api_base_url: "https://agent.example.com",
  capability: { name: "advice", version: "1.0.0" },
  author: { name: "An author" },
  tags: ["advice"],
  agentPricing: {
    pricingType: "Fixed",
    fixedPricing: [{ unit: [], amount: "9000000000000000" }],
  },
  image: "ipfs://image",
  metadata_version: "1",
};

/** Done in test/console/troubles.long.test.ts. */
const ELSEWHERE = ["purchase cancel"];
const driven = new Set(ELSEWHERE);

const chromium = findChromium();
if (chromium === null) console.log("no Chromium: no step of an escrow is driven");

describe.runIf(chromium)("an escrow's own page", { timeout: 4 * STEP_MS }, () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  let dear: string;
  const escrows = new Map<OnChainState | "FundsLocked of the poor" | "To be settled", Escrow>();

  const api = <Data>(method: "GET" | "POST", path: string, body?: object) =>
    ask<Data>({ url: service.url, token: variables.ADMIN_KEY }, method, path, body);

  beforeAll(async () => {
    service = await startService({
      variables,
      hasActors: true,
      begins: Date.now() - PAST_MS,
      log: () => {},
    });
    const { chain } = service;
    publishScripts(chain);
    const one = { version: "Web3ChainV1", ...partiesOf("Web3ChainV1") } as const;
    const two = { version: "Web3ChainV2", ...partiesOf("Web3ChainV2") } as const;
    const poor = await addPoorSeller();
    dear = mintToken(chain, contractOf("Web3ChainV1"), one.seller, DEAR).unit;
    const disputed = (order: typeof one | typeof two) =>
      act(chain, act(chain, lock(chain, order), "submitResult"), "requestRefund");
    escrows.set("Disputed", disputed(one));
    escrows.set("WithdrawAuthorized", disputed(two));
    escrows.set("To be settled", disputed(one));
    escrows.set("RefundRequested", act(chain, lock(chain, two), "requestRefund"));
    escrows.set("ResultSubmitted", act(chain, lock(chain, one), "submitResult"));
    chain.moveTo(Date.now() - JUST_NOW_MS);
    escrows.set("FundsLocked", lock(chain, one));
    escrows.set("FundsLocked of the poor", lock(chain, { ...one, seller: poor }));
    chain.moveTo(Date.now());
    service.goLive();
    await handOver({ url: service.url, token: variables.ADMIN_KEY });
    browser = await launch(chromium ?? "");
    const tab = await openConsole(browser, service.url, { theme: "light", size: "desktop" });
    page = tab.page;
    page.setDefaultTimeout(STEP_MS);
    await signIn(page, variables.ADMIN_KEY);
  }, 2 * STEP_MS);
  afterAll(async () => {
    await browser?.close();
    await service?.close();
  });

  async function sourceOf(type: PaymentSourceType) {
    const { ExtendedPaymentSources } = await api<{
      ExtendedPaymentSources: { id: string; paymentSourceType: PaymentSourceType }[];
    }>("GET", "/payment-source-extended?network=Preprod");
    const source = ExtendedPaymentSources.find((found) => found.paymentSourceType === type);
    if (!source) throw new Error(`there is no source of ${type}`);
    return source;
  }

  /** A managed wallet that holds nothing. */
  async function addPoorSeller(): Promise<Wallet> {
    const mnemonic = generateMnemonic(wordlist, 256);
    const keys = await deriveWalletKeys(mnemonic, "Preprod");
    await api("POST", "/wallet", {
      ...{ network: "Preprod", paymentSourceId: (await sourceOf("Web3ChainV1")).id },
      ...{ walletType: "Selling", walletMnemonic: mnemonic, note: "Poor", drives: "all" },
    });
    return { name: "poor", mnemonic, keys, address: keys.address, vkey: keys.vkey };
  }

  async function open(side: Side, name: Parameters<typeof escrows.get>[0]): Promise<string> {
    const blockchainIdentifier = escrows.get(name)?.identifier;
    const record = await until(
      () =>
        api<{ id: string }>("POST", `/${side}/resolve-blockchain-identifier`, {
          network: "Preprod",
          blockchainIdentifier,
        }).catch(() => false as const),
      { what: `a ${side} that is ${name}` },
    );
    await show(page, `#/${side}/${record.id}`);
    return record.id;
  }

  /** Takes a step of the page that is shown. */
  async function take(side: Side, name: string, fill: Record<string, string> = {}): Promise<void> {
    const step = listAllActions(side).find((one) => one.name === name);
    if (!step) throw new Error(`a ${side} has no step ${name}`);
    await page.getByRole("button", { name: step.label, exact: true }).click();
    const dialog = page.getByRole("dialog");
    for (const [label, text] of Object.entries(fill)) await dialog.getByLabel(label).fill(text);
    if (step.isFinal) await dialog.locator(".sure input").check();
    await dialog.getByRole("button", { name: step.label, exact: true }).click();
    const problem = dialog.locator(".problem");
    await page.locator("body:not(:has(dialog))").or(problem).first().waitFor();
    if (await problem.isVisible()) {
      const refusal = await problem.innerText();
      await page.keyboard.press("Escape");
      throw new Error(`${name}: ${refusal}`);
    }
    driven.add(`${side} ${name}`);
  }

  /** Clears the error, which is decided anew where the wallet has tried once more meanwhile. */
  async function clear(side: Side): Promise<void> {
    const isCleared = () =>
      take(side, "clear").then(
        () => true,
        (error: Error) => {
          if (error.message.includes("decide again")) return false;
          throw error;
        },
      );
    await until(isCleared, { what: `a ${side} without its error`, everyMs: 500 });
  }

  /** The page shows it without a reload. */
  const shows = (state: OnChainState) =>
    page.locator("h1 .tag", { hasText: toWords(state) }).waitFor();

  test("a result is submitted", async () => {
    await open("payment", "FundsLocked");
    await take("payment", "submit-result", { "Result hash": "5e".repeat(32) });
    await shows("ResultSubmitted");
  });

  test("a refund is requested of a result", async () => {
    await open("purchase", "ResultSubmitted");
    await take("purchase", "request-refund");
    await shows("Disputed");
  });

  test("a dispute's refund request is cancelled", async () => {
    await open("purchase", "Disputed");
    await take("purchase", "cancel-refund-request");
    await shows("ResultSubmitted");
  });

  test("a refund is authorised, and collected", async () => {
    await open("payment", "RefundRequested");
    await take("payment", "authorize-refund");
    await shows("RefundAuthorized");
    await open("purchase", "RefundRequested");
    await take("purchase", "withdraw-refund");
    await shows("RefundWithdrawn");
  });

  test("a withdrawal is authorised, and made", async () => {
    await open("purchase", "WithdrawAuthorized");
    await take("purchase", "authorize-withdrawal");
    await shows("WithdrawAuthorized");
    await open("payment", "WithdrawAuthorized");
    await take("payment", "withdraw");
    await shows("Withdrawn");
  });

  test("a result that its wallet cannot pay for is tried again, and cleared", async () => {
    await open("payment", "FundsLocked of the poor");
    await take("payment", "submit-result", { "Result hash": "5f".repeat(32) });
    const problem = page.locator("main p.problem");
    await problem.waitFor();
    await take("payment", "retry");
    await problem.waitFor();
    await clear("payment");
    await problem.waitFor({ state: "detached" });
  });

  test("a lock that no wallet can pay for is tried again, and its error is cleared", async () => {
    const source = await sourceOf("Web3ChainV1");
    const admin = { url: service.url, token: variables.ADMIN_KEY };
    await buyJob(admin, { ...source, agentIdentifier: dear });
    const { Purchases } = await api<{ Purchases: { id: string }[] }>(
      "GET",
      "/purchase?network=Preprod&limit=1",
    );
    await show(page, `#/purchase/${Purchases[0]?.id}`);
    const problem = page.locator("main p.problem");
    await problem.waitFor();
    await take("purchase", "retry");
    await problem.waitFor();
    await clear("purchase");
  });

  test("a dispute's split is signed by a wallet of the browser, as it signs transactions", async () => {
    const id = await open("purchase", "To be settled");
    await page.exposeFunction("signedByAdmin", async (transaction: string) => {
      const wallet = Client.make(preprod).withSeed({ mnemonic: ADMIN.mnemonic, accountIndex: 0 });
      return TransactionWitnessSet.toCBORHex(await wallet.signTx(transaction));
    });
    await page.evaluate(() => {
      const { signedByAdmin } = window as unknown as { signedByAdmin: (hex: string) => unknown };
      const enabled = { signTx: signedByAdmin };
      const enable = async () => enabled;
      Object.assign(window, { cardano: { its: { name: "Its wallet", enable } } });
    });
    await show(page, `#/disputes?on=${id}`);
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Propose a split", exact: true }).click();
    await dialog.getByLabel("The buyer gets").fill("4");
    await dialog.getByRole("button", { name: "Propose a split", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Hand in a signature", exact: true }).click();
    await dialog.getByRole("button", { name: "Sign with Its wallet" }).click();
    await expect
      .poll(() => dialog.getByLabel("Signature (hex)").inputValue())
      .toMatch(/^[0-9a-f]+$/);
    await dialog.getByRole("button", { name: "Hand in a signature", exact: true }).click();
    await dialog.getByText("Settle requested").waitFor();
    await dialog.getByRole("button", { name: "Close", exact: true }).click();
  });

  test("a list's CSV is the service's", async () => {
    await show(page, "#/payment");
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as CSV" }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe("payments.csv");
    const answer = await fetch(`${service.url}/api/v1/payment/csv?network=Preprod`, {
      headers: { token: variables.ADMIN_KEY },
    });
    expect(await text(await saved.createReadStream())).toBe(await answer.text());
  });

  test("the overview's chart has the numbers of the service", async () => {
    const { byState } = await api<{ byState: { onChainState: string | null; count: number }[] }>(
      "GET",
      "/payment/count?network=Preprod",
    );
    await show(page, "#/overview");
    const chart = page.getByRole("region", { name: "Payments" });
    await chart.locator("summary").click();
    for (const { onChainState, count } of byState) {
      const name = onChainState === null ? "Nothing locked" : toWords(onChainState);
      const state = page.getByText(name, { exact: true });
      await chart.locator("dl > div", { has: state, hasText: new RegExp(`${count}$`) }).waitFor();
    }
  });

  test("no step is left out", () => {
    const all = (["payment", "purchase"] as const).flatMap((side) =>
      listAllActions(side).map(({ name }) => `${side} ${name}`),
    );
    expect(all.filter((one) => !driven.has(one))).toEqual([]);
  });
});

function partiesOf(type: PaymentSourceType): { seller: Wallet; buyer: Wallet } {
  const { sellers, buyers } = CASTS[type];
  const [[seller], [buyer]] = [sellers, buyers];
  if (!seller || !buyer) throw new Error("the demo has nobody to trade");
  return { seller, buyer };
}
