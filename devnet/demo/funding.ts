/** Native coins for wallets that someone makes while the service runs. */
import { z } from "zod";
import type { Devnet } from "../server/server.ts";
import { buildTransaction } from "./actors/transaction.ts";
import { STRANGER } from "./actors/wallets.ts";

const FundBody = z.strictObject({
  address: z.string(),
  lovelace: z.coerce.bigint().positive().default(1_000_000_000n),
});

/**
 * Registers the action `fund`: `{address, lovelace?: "1000000000"}` → `{hash}` of the transaction
 * that pays the address out of a wallet that the service does not have.
 */
export function registerFunding(devnet: Devnet): void {
  devnet.onControl("fund", async (chain, body) => {
    const { address, lovelace } = FundBody.parse(body);
    const outputs = [{ address, funds: [{ unit: "", amount: lovelace }] }];
    return { hash: chain.submit(buildTransaction(chain, { payer: STRANGER, outputs })) };
  });
}
