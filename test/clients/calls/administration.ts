/** Keys, webhooks, monitoring, and what the service does not offer. */
import type { Call } from "../peer-caller.ts";
import type { Scene } from "../scene.ts";

const VKEY = "ab".repeat(28);
const POLICY = { policyId: "", assetName: "", name: "coin" };

/** API keys in the peer's form. */
export async function callKeys(call: Call): Promise<void> {
  await call("GET /health");
  const key = await call("POST /api-key", {
    body: {
      usageLimited: "true",
      UsageCredits: [{ unit: "lovelace", amount: "10000000" }],
      NetworkLimit: ["Preprod"],
      ChainIdLimit: ["eip155:84532"],
      permission: "ReadAndPay",
      walletScopeEnabled: "false",
    },
  });
  await call("GET /api-key-status", { token: key.token });
  await call("GET /api-key-status");
  await call("PATCH /api-key", {
    body: {
      id: key.id,
      UsageCreditsToAddOrRemove: [{ unit: "lovelace", amount: "5000000" }],
      status: "Active",
      canPay: true,
    },
  });
  await call("GET /api-key", { query: { take: "20" } });
  await call("DELETE /api-key", { body: { id: key.id } });
}

/** A webhook endpoint, from its creation to its removal. */
export async function callWebhooks(call: Call, { service }: Scene): Promise<void> {
  const url = `${service.receiver.url}/inbox`;
  const Events = ["PAYMENT_ON_CHAIN_STATUS_CHANGED", "WALLET_LOW_BALANCE"];
  const created = await call("POST /webhooks", {
    body: { url: `${url}/peer`, authToken: "a-token-of-ten", format: "EXTENDED", Events },
  });
  await call("PATCH /webhooks", {
    body: { webhookId: created.id, url: `${url}/moved`, format: "SLACK", Events, name: "Moved" },
  });
  await call("POST /webhooks/test", { body: { webhookId: created.id } });
  await call("GET /webhooks", { query: { limit: "10" } });
  await call("DELETE /webhooks", { body: { webhookId: created.id } });
}

/** Operations about the service itself, and the eleven that are not offered. */
export async function callService(call: Call): Promise<void> {
  await call("GET /monitoring");
  await call("POST /monitoring/trigger-cycle");
  await call("POST /monitoring/start", { body: { intervalMs: 30_000 } });
  await call("POST /monitoring/stop");
  await call("POST /swap", {
    body: {
      walletVkey: VKEY,
      amount: 5,
      FromToken: POLICY,
      ToToken: { ...POLICY, policyId: VKEY },
      poolId: "pool1",
    },
  });
  await call("GET /swap/confirm", { query: { txHash: "ab".repeat(32), walletVkey: VKEY } });
  await call("GET /swap/transactions", { query: { walletVkey: VKEY } });
  await call("GET /swap/estimate", {
    query: {
      fromPolicyId: "",
      fromAssetName: "",
      toPolicyId: VKEY,
      toAssetName: "00",
      poolId: "pool1",
    },
  });
  const swap = { walletVkey: VKEY, swapTransactionId: "swap" };
  await call("POST /swap/cancel", { body: swap });
  await call("POST /swap/acknowledge-timeout", { body: swap });
  await call("POST /signature/sign/verifyAndPublishAgent", {
    body: {
      publicKey: "ab".repeat(32),
      agentIdentifier: VKEY + VKEY,
      action: "VerifyAndPublishAgent",
    },
  });
}
