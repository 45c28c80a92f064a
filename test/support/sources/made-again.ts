import { env } from "cloudflare:workers";
import type { BuyDesk } from "../escrow/buying.ts";
import { settle } from "./sync.ts";

/**
 * Removes a desk's payment source with all that is open, creates it again for the same contract and wallets,
 * and follows the chain from the contract's first transaction.
 *
 * @returns the new source's id
 */
export async function makeSourceAgain({ desk, chain, buyers }: BuyDesk): Promise<string> {
  const receiver = await env.DB.prepare(
    "SELECT fee_receiver_address FROM payment_source WHERE id = ?",
  )
    .bind(desk.sourceId)
    .first<string>("fee_receiver_address");
  const removed = await desk.ask("DELETE", "/payment-source-extended", {
    id: desk.sourceId,
    force: true,
  });
  if (removed.status !== 200) throw new Error(removed.message);
  const driven = ({ mnemonic }: { mnemonic: string }) => ({
    walletMnemonic: mnemonic,
    drives: "all",
  });
  const { status, data, message } = await desk.ask<{ id: string }>(
    "POST",
    "/payment-source-extended",
    {
      network: "Preprod",
      paymentSourceType: desk.contract.type,
      smartContractAddress: desk.contract.address,
      policyId: desk.contract.policyId,
      PaymentSourceConfig: { rpcProviderApiKey: "local", rpcProvider: "Blockfrost" },
      AdminWallets: [{ walletAddress: desk.sellers[0].address }],
      feeRatePermille: 50,
      ...(receiver && { FeeReceiverNetworkWallet: { walletAddress: receiver } }),
      SellingWallets: desk.sellers.map(driven),
      PurchasingWallets: Object.values(buyers).map(driven),
    },
  );
  if (status !== 200) throw new Error(message);
  await env.DB.prepare(
    `UPDATE payment_source SET admin_wallets = former.admin_wallets,
       required_admin_signatures = former.required_admin_signatures
     FROM payment_source AS former WHERE former.id = ? AND payment_source.id = ?`,
  )
    .bind(desk.sourceId, data.id)
    .run();
  await settle(chain, data.id);
  return data.id;
}
