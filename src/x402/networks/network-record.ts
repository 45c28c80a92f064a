import * as z from "zod";
import { toIsoTime } from "../../http/envelope.ts";
import { described, idField, named, textField, timestampField } from "../../http/openapi/fields.ts";
import {
  addressResponse,
  caip2,
  EXAMPLE_ASSET,
  EXAMPLE_PAY_TO,
  EXAMPLE_PAYER,
  EXAMPLE_WALLET_ID,
  nullableText,
} from "../model/schemas.ts";
import { gasSponsoring, readSponsoringColumns } from "./gas-sponsoring.ts";
import { listFacilitatorIds, type NetworkRow, type WalletRow } from "./settlement-network.ts";

export const defaultAssetDecimals = described(
  z.int().min(0).max(255).nullable(),
  "Decimals of the default token, as its contract says. Null: none, or unknown.",
  6,
);

export const canSettle = described(
  z.boolean(),
  "Whether the network has a facilitator: wallets, or another one.",
  true,
);

export const networkRecord = named(
  "X402Network",
  "An EVM chain on which the service settles payments.",
  z.object({
    id: idField("the network", "01m80ydys10y2a8emavwntdfzj"),
    caip2Id: caip2,
    displayName: textField("Display name.", "Base"),
    rpcUrl: textField("URL of the RPC node.", "https://mainnet.base.org"),
    isTestnet: described(z.boolean(), "Whether the chain is a testnet.", false),
    isEnabled: described(z.boolean(), "Whether the network is enabled.", true),
    defaultAsset: nullableText("Default token of new resources. Null: none.", EXAMPLE_ASSET),
    defaultAssetDecimals,
    facilitatorWalletId: nullableText(
      "Id of the first facilitator wallet. Null: none.",
      EXAMPLE_WALLET_ID,
    ),
    facilitatorWalletIds: described(
      z.array(textField("Id of a wallet.", EXAMPLE_WALLET_ID)),
      "Ids of all wallets that settle on the network; the first is `facilitatorWalletId`.",
    ),
    facilitatorWalletAddress: nullableText(
      "Address of the first facilitator wallet. Null: none.",
      EXAMPLE_PAYER,
    ),
    facilitatorUrl: nullableText(
      "Base URL of another x402 facilitator, which settles in place of wallets. Null: none.",
      "https://facilitator.example.com",
    ),
    hasFacilitatorAuth: described(
      z.boolean(),
      "Whether `facilitatorUrl` gets a header `Authorization`.",
      false,
    ),
    canSettle,
    eip6492AllowedFactories: described(
      z.array(addressResponse("Address of a factory.", EXAMPLE_PAY_TO)),
      "ERC-6492 factories that the service may call for undeployed wallets.",
    ),
    gasSponsoring: described(
      gasSponsoring.nullable(),
      "Gas for payments that approve Permit2 by a permit. Null: none.",
    ),
    createdById: nullableText(
      "Id of the API key that created the network. Null: the key was deleted.",
      "env-admin",
    ),
    createdAt: timestampField("Time of creation."),
    updatedAt: timestampField("Time of the last change."),
  }),
);

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
