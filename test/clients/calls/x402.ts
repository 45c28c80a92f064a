/** The x402 rail: networks, wallets, budgets, payments of both sides, and their sums. */
import { randomBytes } from "node:crypto";
import { ask } from "../../../devnet/client/api.ts";
import { createPayer } from "../../../devnet/demo/x402/buyer.ts";
import { NETWORK } from "../../../devnet/demo/x402/rail.ts";
import { PAYEE } from "../../../devnet/demo/x402/resource.ts";
import type { Call } from "../peer-caller.ts";
import type { Scene } from "../scene.ts";

/** Networks, wallets, rules and budgets. */
export async function callX402Wallets(call: Call, { x402 }: Scene): Promise<void> {
  const { node } = x402;
  const network = await call("POST /x402/networks", {
    body: {
      caip2Id: NETWORK,
      displayName: "Local EVM chain",
      rpcUrl: node.url,
      isTestnet: true,
      isEnabled: true,
      defaultAsset: node.token,
      defaultAssetDecimals: 6,
    },
  });
  await call("GET /x402/networks", { query: { isTestnet: "true" } });
  await call("GET /x402/networks/available", { query: { isTestnet: "true" } });
  const wallet = await call("POST /x402/wallets", {
    body: { networkId: network.id, type: "Purchasing", note: "Buys" },
  });
  const { id } = wallet;
  await call("GET /x402/wallets", { query: { take: "5", networkId: network.id } });
  await call("GET /x402/wallets/detail", { query: { id } });
  await call("POST /x402/wallets/update", { body: { id, note: "Buys more" } });
  await call("GET /x402/wallets/balance", { query: { id } });
  await call("GET /x402/wallets/count", { query: { type: "Purchasing" } });

  const rule = await call("POST /x402/low-balance", {
    body: { evmWalletId: id, caip2Network: NETWORK, asset: "native", thresholdAmount: "1000" },
  });
  await call("GET /x402/low-balance", { query: { evmWalletId: id, includeDisabled: "true" } });
  await call("PATCH /x402/low-balance", { body: { ruleId: rule.id, enabled: false } });
  await call("DELETE /x402/low-balance", { body: { ruleId: rule.id } });

  const key = await call("POST /api-key", {
    body: { UsageCredits: [], permission: "ReadAndPay", ChainIdLimit: [NETWORK] },
  });
  await call("POST /x402/budgets", {
    body: {
      apiKeyId: key.id,
      evmWalletId: id,
      caip2Network: NETWORK,
      asset: node.token,
      remainingAmount: "1000000",
    },
  });
  await call("GET /x402/budgets", { query: { apiKeyId: key.id } });
  await call("POST /x402/wallets/delete", { body: { id } });
}

/** Payments for the EVM source of an agent, and their records. */
export async function callX402Payments(
  call: Call,
  scene: Scene,
  supportedPaymentSourceId: string,
): Promise<void> {
  const { access, x402 } = scene;
  const payer = await createPayer(access, x402.node);
  const terms = {
    scheme: "exact",
    network: NETWORK,
    asset: x402.node.token,
    amount: "10000",
    payTo: PAYEE,
    maxTimeoutSeconds: 300,
    extra: { name: "Test Dollar", version: "1" },
  };
  const pay = async (accepted: object, more: object = {}) => {
    const signed = await call("POST /x402/pay", {
      token: payer.token,
      body: {
        evmWalletId: payer.evmWalletId,
        paymentRequired: {
          x402Version: 2,
          resource: { url: "https://agent.example.com/run" },
          accepts: [accepted],
          extensions: { "payment-identifier": { info: { required: false } } },
        },
        ...more,
      },
    });
    return JSON.parse(Buffer.from(signed.xPaymentHeader, "base64").toString());
  };
  const body = { supportedPaymentSourceId, paymentPayload: await pay(terms) };
  await pay(terms, { paymentIdentifier: `pay_${randomBytes(10).toString("hex")}` });
  await call("POST /x402/verify", { body });
  await call("POST /x402/settle", { body });

  await call("GET /x402/payments", { query: { take: "10", side: "sell" } });
  await call("GET /x402/payments/count", { query: { side: "buy", caip2Network: NETWORK } });
  await call("GET /x402/settlements", { query: { take: "10", caip2Network: NETWORK } });
  await call("GET /x402/settlements/count", { query: { success: "true" } });
  await call("POST /x402/analytics", { body: { timeZone: "Europe/Berlin" } });

  const { rpc } = x402.node;
  const hasty = { ...terms, maxTimeoutSeconds: 2 };
  const { id } = await ask<{ id: string }>(access, "POST", "/x402/payment-sources", {
    url: "https://agent.example.com/hasty",
    caip2Network: NETWORK,
    amount: terms.amount,
    payTo: PAYEE,
    maxTimeoutSeconds: hasty.maxTimeoutSeconds,
  });
  const paymentPayload = await pay({ ...hasty, maxTimeoutSeconds: 300 });
  await rpc("evm_setAutomine", [false]);
  const open = await call("POST /x402/settle", {
    body: {
      supportedPaymentSourceId: id,
      paymentPayload: {
        ...paymentPayload,
        accepted: hasty,
        resource: { url: "https://agent.example.com/hasty" },
      },
    },
  });
  await rpc("evm_setAutomine", [true]);
  await rpc("anvil_mine", ["0x1"]);
  await call("POST /x402/payments/reconcile", {
    body: {
      attemptId: open.attemptId,
      resolution: "settled",
      txHash: open.settleResponse.transaction,
    },
  });
}
