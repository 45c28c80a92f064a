import type { Database } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { hashOf } from "../fold/escrow-outputs.ts";
import { listPage } from "../list.ts";
import { MEANT_FIRST } from "../reads/meant.ts";
import type { PurchaseBody } from "./schemas.ts";

/**
 * Refuses an identifier that has a purchase: clients look whether that is theirs.
 *
 * @throws ApiError 409 with the purchase's `id`, and for its owner and Admins the purchase as `object`
 *   as far as its wallets are ones that the API key may use
 */
export async function refuseExisting(
  c: AppContext,
  database: Database,
  { network, blockchainIdentifier }: Pick<PurchaseBody, "network" | "blockchainIdentifier">,
): Promise<void> {
  const [row] = await database.all<{ id: string; requestedById: string }>(
    `SELECT id, requested_by_id AS requestedById FROM escrow INDEXED BY escrow_identifier
     WHERE identifier_hash = ? AND side = 'purchase' AND network = ?
     ORDER BY ${MEANT_FIRST} LIMIT 1`,
    hashOf(blockchainIdentifier),
    network,
  );
  if (!row) return;
  const { caller } = c.var;
  const isShown = caller.permission === "Admin" || caller.id === row.requestedById;
  const query = {
    network,
    id: row.id,
    limit: 1,
    includeHistory: false,
    viewer: caller,
    env: c.env,
  };
  const object = isShown ? await listPage(database, "purchase", query) : "";
  throw new ApiError("already_exists", "blockchainIdentifier: has a purchase already", {
    beside: {
      id: row.id,
      ...(object !== "" && { object: JSON.parse(object) }),
    },
  });
}
