/** Every action of the console's lists in Chromium, over the demo of `npm start`; where there is none, a line says so. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { generateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIST_PAGES } from "../../console/pages/lists.ts";
import { type ApiAccess, ask } from "../../devnet/client/api.ts";
import {
  findChromium,
  LOOKS,
  type Look,
  launch,
  openConsole,
  signIn,
} from "../../devnet/client/console.ts";
import { until } from "../../devnet/client/wait.ts";
import { contractOf } from "../../devnet/contracts/index.ts";
import { STRANGER } from "../../devnet/demo/actors/wallets.ts";
import { DEMO_DOLLAR } from "../../devnet/demo/currency.ts";
import { NETWORK } from "../../devnet/demo/x402/rail.ts";
import { labelOf, operatorActionsOf, type Props, perform } from "../console/operator-actions.ts";
import { freePort, killCopies, ready, start } from "../e2e/copies.ts";

const DAY_MS = 86_400_000;
/** Blocks come every two seconds; a registration may queue behind other transactions of its wallet. */
const ACT_MS = 180_000;
const ALL_MS = 1_800_000;

/** Takes anything. */
const receiver = createServer((request, response) => {
  request.resume();
  response.writeHead(204).end();
});
let access: ApiAccess;
const chromium = findChromium();

beforeAll(async () => {
  if (chromium === null) return;
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  const copy = start(await freePort(), `--origins=${receiverUrl()}`);
  const { url, adminKey: token } = await ready(copy);
  access = { url, token };
});
afterAll(() => {
  killCopies();
  receiver.close();
});

const receiverUrl = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

test("each action of each list is done once", { timeout: ALL_MS }, async () => {
  if (chromium === null) return console.log("no Chromium: the console's actions are not driven");
  const props = await until(propsOf, { what: "what the demo has" });
  const acts = operatorActionsOf(props);
  const browser = await launch(chromium);
  try {
    // They take turns: each does a quarter of the actions.
    const pages = await Promise.all(LOOKS.map((look) => open(browser, look)));
    const problems: string[] = [];
    for (const [i, act] of acts.entries()) {
      const page = pages[i % pages.length] as Page;
      const once = () => perform(page, labelOf(LIST_PAGES, act), act);
      const attempt = act.waits
        ? until(
            () =>
              once().then(
                () => true,
                () => false,
              ),
            { what: act.does, everyMs: 1_000 },
          )
        : once();
      await attempt.catch((error: Error) =>
        problems.push(`${act.at} ${act.does}: ${error.message}`),
      );
    }
    expect(problems.join("\n")).toBe("");
  } finally {
    await browser.close();
  }
});

async function open(browser: Browser, look: Look): Promise<Page> {
  const { page } = await openConsole(browser, access.url, look);
  page.setDefaultTimeout(ACT_MS);
  await signIn(page, access.token);
  return page;
}

/** Null until the service has followed the demo's past. */
async function propsOf(): Promise<Props | null> {
  const read = <Data>(path: string) => ask<Data>(access, "GET", path);
  const { ExtendedPaymentSources } = await read<{
    ExtendedPaymentSources: {
      id: string;
      paymentSourceType: string;
      SellingWallets: { walletVkey: string; walletAddress: string }[];
    }[];
  }>("/payment-source-extended?network=Preprod");
  const source = ExtendedPaymentSources.find(
    ({ paymentSourceType }) => paymentSourceType === "Web3ChainV1",
  );
  const { Webhooks } = await read<{ Webhooks: { id: string }[] }>("/webhooks");
  const month = new Date(Date.now() - DAY_MS).toISOString().slice(0, 7);
  const { UninvoicedPayments } = await read<{ UninvoicedPayments: { buyerWalletVkey: string }[] }>(
    `/invoice/monthly/missing?network=Preprod&month=${month}`,
  );
  const [endpoint, payment, wallet] = [
    Webhooks[0],
    UninvoicedPayments[0],
    source?.SellingWallets[0],
  ];
  if (!source || !endpoint || !payment || !wallet) return null;
  const other = contractOf("Web3ChainV2", "open");
  return {
    ...{ sourceId: source.id, endpointId: endpoint.id, sellerVkey: wallet.walletVkey },
    sellerAddress: wallet.walletAddress,
    ...{ buyerVkey: payment.buyerWalletVkey, month, address: STRANGER.address },
    ...{ receiver: `${receiverUrl()}/acts`, dollar: DEMO_DOLLAR },
    other: { address: other.address, policyId: other.policy.hash },
    mnemonic: generateMnemonic(wordlist, 256),
    evm: await evmOf(),
  };
}

async function evmOf(): Promise<Props["evm"]> {
  const { Networks } = await ask<{
    Networks: {
      caip2Id: string;
      rpcUrl: string;
      defaultAsset: string;
      facilitatorWalletAddress: string;
    }[];
  }>(access, "GET", "/x402/networks");
  const found = Networks.find(({ caip2Id }) => caip2Id === NETWORK);
  if (!found) return null;
  const {
    caip2Id: network,
    rpcUrl,
    defaultAsset: token,
    facilitatorWalletAddress: address,
  } = found;
  const wallet = { caip2Network: network, type: "Purchasing" };
  const { id: payerId } = await ask<{ id: string }>(access, "POST", "/x402/wallets", wallet);
  const key = { name: "Payer", permission: "User", canPay: true };
  const { id: keyId } = await ask<{ id: string }>(access, "POST", "/api-key", key);
  return { network, rpcUrl, token, payerId, keyId, address };
}
