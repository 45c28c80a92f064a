import { env } from "cloudflare:workers";
import { db, statement } from "../../../src/db/client.ts";

/** Writes a payment source straight into the table, without wallets, and returns its id. */
export async function insertSource(id: string, network: "Preprod" | "Mainnet"): Promise<string> {
  await db(env).batch([
    statement(
      `INSERT INTO payment_source (id, network, type, contract_address, policy_id, admin_wallets,
         fee_rate_permille, cooldown_time, rpc_provider, rpc_provider_api_key, created_by_id,
         created_at, updated_at)
       VALUES (?, ?, 'Web3ChainV1', ?, '', '[]', 0, 0, 'Blockfrost', 'sealed', 'key', 1, 1)`,
      id,
      network,
      `addr_${id}`,
    ),
  ]);
  return id;
}
