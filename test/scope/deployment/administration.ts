import { env } from "cloudflare:workers";
import { STRANGER } from "../../../devnet/demo/actors/wallets.ts";
import { insertRows } from "../../support/insert-rows.ts";
import type { Service } from "../service.ts";
import type { Wallets } from "./wallets.ts";

export const KEY_NAME = "another key of the deployment";
export const TICKER = "MARKT";
export const UNIT = "cd".repeat(30);
export const RATE_SOURCE = "House rate";
export const TRANSACTION_HASH = "fe".repeat(32);
const AMOUNT = "7000003";

/** What Admins have set up beside sources. */
export interface Administration {
  otherKeyId: string;
  lowBalanceRuleId: string;
  topUpRuleId: string;
  transferId: string;
  transferTo: string;
  spareWalletId: string;
  botId: string;
  botVersionId: string;
  spareVersionId: string;
}

/** Has an Admin make what only Admins may see. */
export async function addAdministration(
  service: Service,
  { source, seller }: Wallets,
): Promise<Administration> {
  const made = async (operation: string, fields: object) =>
    (await service.made<{ id: string }>(operation, { ...fields })).id;
  const botVersionId = "version-of-the-bots";
  const spareVersionId = "version-that-no-bot-has";
  for (const id of [botVersionId, spareVersionId])
    await made("POST /v1/admin/worker-bots/versions", { id, name: `Version ${id}` });
  await service.made("POST /units", { unit: UNIT, ticker: TICKER, decimals: 6 });
  await service.made("POST /invoice/rates", {
    ...{ unit: "", currency: "eur", month: "2025-09", rate: 0.0000051 },
    source: RATE_SOURCE,
  });
  await insertRows("wallet_transaction", [
    {
      hash: TRANSACTION_HASH,
      network: "Preprod",
      wallet_vkey: seller.vkey,
      source_id: source.id,
      phase: "Final",
      tasks: "[]",
      fee: "170000",
      valid_to: 1,
      request_id: "request",
    },
  ]);
  await service.made("POST /payment-source-extended/reference-script", { id: source.id });
  await env.DB.batch([
    env.DB.prepare("UPDATE reference_script SET state = 'Published'"),
    env.DB.prepare("DELETE FROM wallet_task WHERE feature = 'reference-script'"),
  ]);
  const { Wallet: spareWallet } = await service.made<{ Wallet: { id: string } }>("POST /wallet", {
    ...{ network: "Preprod", paymentSourceId: source.id, walletType: "Funding" },
  });
  const transferTo = STRANGER.address;
  return {
    botVersionId,
    spareVersionId,
    spareWalletId: spareWallet.id,
    transferTo,
    otherKeyId: await made("POST /api-key", { permission: "User", name: KEY_NAME }),
    lowBalanceRuleId: await made("POST /wallet/low-balance", {
      ...{ walletId: seller.id, unit: "", thresholdAmount: AMOUNT },
    }),
    topUpRuleId: await made("POST /wallet/top-up", {
      ...{ walletId: seller.id, unit: "", below: AMOUNT, upTo: "17000003" },
    }),
    transferId: await made("POST /wallet/transfer-funds", {
      ...{ fromWalletAddress: seller.address, toAddress: transferTo, minorUnitAmount: AMOUNT },
    }),
    botId: await made("POST /v1/admin/worker-bots", {
      ...{ name: "Bot of the deployment", versionId: botVersionId },
    }),
  };
}
