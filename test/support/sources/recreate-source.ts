import { env } from "cloudflare:workers";
import type { PaymentSourceFixture } from "../escrow/payment-source-fixture.ts";
import { settle } from "./sync.ts";

/**
 * Removes a payment source with open escrows, and creates it again for the same contract and
 * wallets. Then it follows the chain from the contract's first transaction.
 *
 * @returns the new source's id
 */
export async function recreateSource({
  fixture,
  chain,
  buyers,
}: PaymentSourceFixture): Promise<string> {
  const receiver = await env.DB.prepare(
    "SELECT fee_receiver_address FROM payment_source WHERE id = ?",
  )
    .bind(fixture.sourceId)
    .first<string>("fee_receiver_address");
  const removed = await fixture.ask("DELETE", "/payment-source-extended", {
    id: fixture.sourceId,
    force: true,
  });
  if (removed.status !== 200) throw new Error(removed.message);
  const driven = ({ mnemonic }: { mnemonic: string }) => ({
    walletMnemonic: mnemonic,
    drives: "all",
  });
  const { status, data, message } = await fixture.ask<{ id: string }>(
    "POST",
    "/payment-source-extended",
    {
      network: "Preprod",
      paymentSourceType: fixture.contract.type,
      smartContractAddress: fixture.contract.address,
      policyId: fixture.contract.policyId,
      PaymentSourceConfig: { rpcProviderApiKey: "local", rpcProvider: "Blockfrost" },
      AdminWallets: [{ walletAddress: fixture.sellers[0].address }],
      feeRatePermille: 50,
      ...(receiver && { FeeReceiverNetworkWallet: { walletAddress: receiver } }),
      SellingWallets: fixture.sellers.map(driven),
      PurchasingWallets: Object.values(buyers).map(driven),
    },
  );
  if (status !== 200) throw new Error(message);
  await env.DB.prepare(
    `UPDATE payment_source SET admin_wallets = former.admin_wallets,
       required_admin_signatures = former.required_admin_signatures
     FROM payment_source AS former WHERE former.id = ? AND payment_source.id = ?`,
  )
    .bind(fixture.sourceId, data.id)
    .run();
  await settle(chain, data.id);
  return data.id;
}
