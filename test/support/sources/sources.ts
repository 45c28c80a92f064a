import { env } from "cloudflare:workers";
import { openDb, statement } from "../../../src/db/client.ts";
import { insertCursor } from "../../../src/sources/cursor.ts";

/** Writes a payment source straight into the table, without wallets, and returns its id. */
export async function insertSource(
  id: string,
  network: "Preprod" | "Mainnet",
  createdAt = 1,
): Promise<string> {
  await openDb(env).batch([
    statement(
      `INSERT INTO payment_source (id, network, type, contract_address, policy_id, admin_wallets,
         fee_rate_permille, cooldown_time, rpc_provider, rpc_provider_api_key, created_by_id,
         created_at, updated_at)
       VALUES (?1, ?2, 'Web3ChainV1', ?3, '', '[]', 0, 0, 'Blockfrost', 'sealed', 'key', ?4, ?4)`,
      id,
      network,
      `addr_${id}`,
      createdAt,
    ),
  ]);
  return id;
}

/** The same with a cursor, as if it had been added to be followed. */
export async function insertFollowed(
  id: string,
  network: "Preprod" | "Mainnet" = "Preprod",
  createdAt = 1,
): Promise<void> {
  await insertSource(id, network, createdAt);
  await openDb(env).batch(insertCursor({ id, network }, null));
}
