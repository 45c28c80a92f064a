/** The peer's end-to-end suites, run by Vitest with the globals that they expect of Jest. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../../devnet/client/api.ts";
import { deploy } from "../../devnet/contracts/deployment.ts";
import { TERMS } from "../../devnet/contracts/terms.ts";
import { publishScripts } from "../../devnet/demo/actors/publish.ts";
import { ADMIN, CASTS, type Wallet } from "../../devnet/demo/actors/wallets.ts";
import { freshSecrets } from "../../devnet/secrets.ts";
import { type Service, startService } from "../../devnet/service.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { findCopy } from "./folder.ts";

const VITEST = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));
const CONFIG = fileURLToPath(new URL("suite/vitest.config.ts", import.meta.url));
/** The suites poll every three seconds, and must see what waits for a block. */
const BLOCK_EVERY_MS = 15_000;
/** They wait for the end of each cooldown. */
const COOLDOWN_MS = 5_000;

const suites = findCopy("masumi-payment-service", "tests/e2e", "its end-to-end suites");
const variables = { ...freshSecrets(), WIRE_NAMES: "cardano" };

describe.runIf(suites)("the peer's end-to-end suite", () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ variables, isEmpty: true, log: () => {} });
    const terms = Object.values(TERMS).map((one) => ({ ...one, cooldownTime: COOLDOWN_MS }));
    publishScripts(service.chain);
    publishScripts(
      service.chain,
      terms.map((one) => deploy(one)),
    );
    service.goLive();
    await fetch(`${service.controls}/blocks`, {
      method: "POST",
      body: JSON.stringify({ everyMs: BLOCK_EVERY_MS }),
    });
    for (const type of ["Web3ChainV1", "Web3ChainV2"] as const) await addSource(service, type);
  });
  afterAll(() => service?.close());

  it.each([
    ["Web3CardanoV1", "tests/e2e/flows/"],
    ["Web3CardanoV2", "tests/e2e/v2/flows/"],
  ])("of %s passes", async (type, folder) => {
    const child = spawn(process.execPath, [VITEST, "run", "--config", CONFIG, folder], {
      env: {
        ...process.env,
        TEST_PAYMENT_SOURCE_TYPE: type,
        TEST_NETWORK: "Preprod",
        TEST_API_URL: service.url,
        TEST_API_KEY: variables.ADMIN_KEY,
        PEER_PROVIDER: service.provider,
        PEER_SUITES: suites?.replace(/\/tests\/e2e$/, ""),
      },
    });
    const printed = Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = await once(child, "close");
    expect(code, (await printed).join("\n").slice(-20_000)).toBe(0);
  });
});

/** A source in the peer's form, with one purchasing wallet. Web3CardanoV2 takes no fee. */
async function addSource({ url }: Service, type: PaymentSourceType): Promise<void> {
  const [seller] = CASTS[type].sellers;
  const [buyer] = CASTS[type].buyers;
  if (!seller || !buyer) throw new Error("the demo has nobody to trade");
  const managed = ({ mnemonic, name }: Wallet) => ({
    ...{ walletMnemonic: mnemonic, note: name },
    collectionAddress: null,
  });
  const isFirst = type === "Web3ChainV1";
  await ask({ url, token: variables.ADMIN_KEY }, "POST", "/payment-source-extended", {
    network: "Preprod",
    paymentSourceType: type,
    PaymentSourceConfig: { rpcProviderApiKey: "local-chain", rpcProvider: "Blockfrost" },
    AdminWallets: [ADMIN, ADMIN, ADMIN].map(({ address }) => ({ walletAddress: address })),
    requiredAdminSignatures: 2,
    cooldownTime: COOLDOWN_MS,
    feeRatePermille: isFirst ? 50 : 0,
    ...(isFirst && { FeeReceiverNetworkWallet: { walletAddress: ADMIN.address } }),
    PurchasingWallets: [managed(buyer)],
    SellingWallets: [managed(seller)],
  });
}
