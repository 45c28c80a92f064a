/** Wallets, their rules, Funding wallets, payment sources, and the chain's outputs. */
import { generateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { until } from "../../../devnet/client/wait.ts";
import { ADMIN, BUYERS, SELLERS } from "../../../devnet/demo/actors/wallets.ts";
import type { Call } from "../peer-caller.ts";
import { POOR, type Scene } from "../scene.ts";

const NETWORK = "Preprod";
const newWallet = (note: string) => ({
  walletMnemonic: generateMnemonic(wordlist, 256),
  collectionAddress: null,
  note,
});

/** Payment sources, of which one is made in the peer's form and removed. */
export async function callSources(call: Call): Promise<void> {
  await call("GET /payment-source", { query: { take: "10" } });
  await call("GET /payment-source-extended", { query: { take: "10", network: NETWORK } });
  const created = await call("POST /payment-source-extended", {
    body: {
      network: NETWORK,
      paymentSourceType: "Web3CardanoV2",
      PaymentSourceConfig: { rpcProviderApiKey: "local-chain", rpcProvider: "Blockfrost" },
      feeRatePermille: 0,
      cooldownTime: 600_000,
      AdminWallets: [ADMIN, SELLERS[0], BUYERS[0]].map(({ address }) => ({
        walletAddress: address,
      })),
      requiredAdminSignatures: 2,
      PurchasingWallets: [newWallet("Buys")],
      SellingWallets: [newWallet("Sells")],
    },
  });
  await call("PATCH /payment-source-extended", {
    body: { id: created.id, AddSellingWallets: [newWallet("Sells too")] },
  });
  await call("DELETE /payment-source-extended", { body: { id: created.id } });
  await call("GET /rpc-api-keys", { query: { limit: "10" } });
}

/** Managed wallets and transfers between them. */
export async function callWallets(call: Call, scene: Scene): Promise<void> {
  const { seller, otherSeller } = scene.parties.Web3ChainV1;
  const { Wallets } = await call("GET /wallet/list", { query: { take: "50" } });
  const { id } = Wallets.find((one: { walletVkey: string }) => one.walletVkey === seller.vkey);
  await call("POST /wallet", { body: { network: NETWORK } });
  await call("GET /wallet", { query: { walletType: "Selling", id, includeSecret: "true" } });
  await call("PATCH /wallet", { body: { id, newCollectionAddress: otherSeller.address } });
  await call("PATCH /wallet", { body: { id, newCollectionAddress: null } });

  const rule = await call("POST /wallet/low-balance", {
    body: {
      walletId: id,
      assetUnit: "lovelace",
      thresholdAmount: "5000000",
      enabled: true,
      topupEnabled: true,
      topupAmount: "10000000",
    },
  });
  await call("GET /wallet/low-balance", { query: { walletId: id, includeDisabled: "true" } });
  await call("PATCH /wallet/low-balance", {
    body: { ruleId: rule.id, thresholdAmount: "6000000", topupEnabled: false },
  });
  await call("DELETE /wallet/low-balance", { body: { ruleId: rule.id } });

  const transfer = await call("POST /wallet/transfer-funds", {
    body: {
      fromWalletAddress: otherSeller.address,
      toAddress: ADMIN.address,
      lovelaceAmount: "5000000",
    },
  });
  await call("GET /wallet/transfer-funds", { query: { id: transfer.id } });
  await call("GET /utxos", { query: { address: seller.address, network: NETWORK, order: "Desc" } });
  await call("GET /balance", { query: { address: seller.address, network: NETWORK } });
}

/** A Funding wallet that tops another wallet up, and an empty Funding wallet. */
export async function callFunds(call: Call, scene: Scene): Promise<void> {
  const { Wallets } = await call("GET /wallet/list", { query: { take: "50" } });
  const wallet = Wallets.find((one: { walletVkey: string }) => one.walletVkey === POOR.vkey);
  const { paymentSourceId } = wallet;
  const words = newWallet("Funds");
  const fund = await call("POST /fund-wallet", {
    body: { paymentSourceId, walletMnemonic: words.walletMnemonic, batchWindowMs: 300_000 },
  });
  const response = await fetch(`${scene.service.controls}/fund`, {
    method: "POST",
    body: JSON.stringify({ address: fund.walletAddress, lovelace: "1000000000000" }),
  });
  if (!response.ok) throw new Error(await response.text());
  await call("PATCH /fund-wallet", { body: { id: fund.id, enabled: true } });
  await call("POST /wallet/low-balance", {
    body: {
      walletId: wallet.id,
      assetUnit: "lovelace",
      thresholdAmount: "50000000",
      topupEnabled: true,
      topupAmount: "10000000",
    },
  });
  await until(
    async () => {
      // A check before the funds are there postpones the next for minutes.
      await call("POST /fund-distribution/trigger", { body: {} });
      const query = { paymentSourceId, fundWalletId: fund.id };
      const { FundDistributions } = await call("GET /fund-distribution", { query });
      return FundDistributions.length > 0;
    },
    { what: "a top-up", everyMs: 2_000 },
  );
  await call("GET /fund-wallet", { query: { paymentSourceId } });
  const empty = await call("POST /fund-wallet", {
    body: { paymentSourceId, walletMnemonic: newWallet("").walletMnemonic, note: "Empty" },
  });
  await call("DELETE /fund-wallet", { body: { id: empty.id } });
}
