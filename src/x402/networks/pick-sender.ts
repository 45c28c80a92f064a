import type { Database } from "../../db/client.ts";
import { InvalidPayloadError, readAuthorization } from "../evm/authorization.ts";
import type { SettleOrder } from "../model/messages.ts";
import { pickFacilitator } from "./pick-facilitator.ts";
import { type Facilitator, findNamedFacilitator, type Settler } from "./settlement-network.ts";

/**
 * The wallet that sends a settlement. Null: none of this service, since another facilitator settles, or the
 * payer of an `upto` payment has named none of its wallets. A wallet that a payer has named may have left the network.
 *
 * @param assigned - what has begun to settle the authorization. An authorization of `exact` keeps it, even one
 *   that the network does not use any more. Only what its payer has named can settle one of `upto`.
 */
export async function pickSender<Assigned extends Facilitator>(
  core: Database,
  settler: Settler,
  { claim, payload, requirements: { network, scheme } }: SenderOrder,
  assigned?: Assigned | null,
): Promise<Facilitator | Assigned | null> {
  if (scheme === "upto") {
    const named = readNamedFacilitator(payload);
    if (named === null) return null;
    const wallets = settler.kind === "wallets" ? settler.wallets : [];
    const isNamed = ({ address }: Facilitator) => address === named.toLowerCase();
    return wallets.find(isNamed) ?? findNamedFacilitator(core, network, named);
  }
  if (assigned) return assigned;
  return settler.kind === "wallets" ? pickFacilitator(settler.wallets, claim) : null;
}

type SenderOrder = Pick<SettleOrder, "claim" | "payload" | "requirements">;

function readNamedFacilitator({ payload }: SettleOrder["payload"]): string | null {
  try {
    const authorization = readAuthorization(payload, "upto");
    return authorization.kind === "permit2" ? authorization.facilitator : null;
  } catch (error) {
    if (error instanceof InvalidPayloadError) return null;
    throw error;
  }
}
