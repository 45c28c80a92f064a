/** Bodies, parameters and responses of the EVM chains that the service settles on. */
import * as z from "zod";
import { described, idField, named, textField, timestampField } from "../../http/openapi/fields.ts";
import { booleanFilter, textParameter } from "../../http/openapi/parameters.ts";
import {
  addressResponse,
  caip2,
  EXAMPLE_ASSET,
  EXAMPLE_PAY_TO,
  EXAMPLE_PAYER,
  EXAMPLE_WALLET_ID,
  evmAddress,
  nullableText,
} from "../model/schemas.ts";
import { gasSponsoring } from "./gas-sponsoring.ts";

export const networkBody = z.object({
  caip2Id: caip2,
  displayName: described(
    textParameter(120).optional(),
    "Display name. Required for a new network.",
    "Base",
  ),
  rpcUrl: described(
    textParameter(2000).meta({ format: "rpc-url-on-the-chain" }).optional(),
    "URL of an RPC node on the declared chain. Required for a new network.",
    "https://mainnet.base.org",
  ),
  isTestnet: described(z.boolean().optional(), "Whether the chain is a testnet.", false),
  isEnabled: described(z.boolean().optional(), "Whether the network is enabled.", true),
  defaultAsset: described(
    evmAddress.nullable().optional(),
    "Default token of new resources. Null: none.",
    EXAMPLE_ASSET,
  ),
  defaultAssetDecimals: described(
    z.int().min(0).max(255).nullable().optional(),
    "Decimals of the default token, as a check. The service reads them from the contract.",
    6,
  ),
  facilitatorWalletId: described(
    textParameter().nullable().optional(),
    "Id of the first facilitator wallet. Null: none, so nothing settles. Alone, it keeps the other wallets.",
    EXAMPLE_WALLET_ID,
  ),
  facilitatorWalletIds: described(
    z
      .array(described(textParameter(), "Id of a wallet.", EXAMPLE_WALLET_ID))
      .max(32)
      .optional(),
    "Ids of all wallets that settle, the first facilitator wallet first. A wallet that is left out settles what it has begun, and nothing new.",
  ),
  facilitatorUrl: described(
    textParameter(2000).meta({ format: "public-https-base-url" }).nullable().optional(),
    "Base URL of another x402 facilitator, which settles in place of wallets. Setting a facilitator clears the wallets, and the reverse. Null: none.",
    "https://facilitator.example.com",
  ),
  facilitatorAuth: described(
    textParameter(2000, 8)
      .regex(/^[!-~]([ -~]*[!-~])?$/, "must be printable ASCII")
      .nullable()
      .optional(),
    "Header `Authorization` for `facilitatorUrl`. A URL of another origin drops the stored header. Null: none.",
    "Bearer 4f7a4f7a4f7a",
  ),
  eip6492AllowedFactories: described(
    z
      .array(described(evmAddress, "Address of a factory.", EXAMPLE_PAY_TO))
      .max(20)
      .optional(),
    "ERC-6492 factories that the service may call for undeployed wallets.",
  ),
  gasSponsoring: described(
    gasSponsoring.nullable().optional(),
    "Gas for payments that approve Permit2 by a permit. Null: none, as by default.",
  ),
});

export type NetworkChange = z.output<typeof networkBody>;

export const networkQuery = z.object({
  isTestnet: described(booleanFilter(), "Only testnets (`true`), or only other chains (`false`)."),
});

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
    defaultAssetDecimals: described(
      z.int().min(0).max(255).nullable(),
      "Decimals of the default token, as its contract says. Null: none, or unknown.",
      6,
    ),
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
    canSettle: described(
      z.boolean(),
      "Whether the network has a facilitator: wallets, or another one.",
      true,
    ),
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

export const availableNetwork = named(
  "X402AvailableNetwork",
  "An EVM chain that the API key may use.",
  networkRecord.pick({
    id: true,
    caip2Id: true,
    displayName: true,
    isTestnet: true,
    defaultAsset: true,
    defaultAssetDecimals: true,
    canSettle: true,
  }),
);
