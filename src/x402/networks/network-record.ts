import { toIsoTime } from "../../http/envelope.ts";
import { readSponsoringColumns } from "./gas-sponsoring.ts";
import { listFacilitatorIds, type NetworkRow, type WalletRow } from "./settlement-network.ts";

/** A network as the interface shows it. */
export type NetworkRecord = ReturnType<typeof toNetworkRecord>;

export function toNetworkRecord(
  network: NetworkRow,
  facilitator: WalletRow | null,
  rpcUrl: string,
) {
  const {
    eip6492Factories,
    otherFacilitatorWalletIds: _,
    facilitatorAuth,
    maxSponsoredGweiPerPayer,
    maxSponsoredGweiPerDay,
    createdAt,
    updatedAt,
    ...rest
  } = network;
  return {
    ...rest,
    rpcUrl,
    facilitatorWalletIds: listFacilitatorIds(network),
    facilitatorWalletAddress: facilitator?.address ?? null,
    hasFacilitatorAuth: facilitatorAuth !== null,
    canSettle: facilitator !== null || network.facilitatorUrl !== null,
    eip6492AllowedFactories: JSON.parse(eip6492Factories) as string[],
    gasSponsoring: readSponsoringColumns({ maxSponsoredGweiPerPayer, maxSponsoredGweiPerDay }),
    createdAt: toIsoTime(createdAt),
    updatedAt: toIsoTime(updatedAt),
  };
}
