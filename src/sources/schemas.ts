import * as z from "zod";
import { PROVIDER_PURPOSES } from "../chain/provider/outage.ts";
import { bech32AddressParameter, network } from "../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_CONTRACT_ADDRESS,
  EXAMPLE_POLICY_ID,
  named,
  nullableTextField,
  textField,
  timestampField,
} from "../http/openapi/fields.ts";
import { optionalTextParameter, textParameter } from "../http/openapi/parameters.ts";
import { AUTOMATION_MODES } from "./automation-mode.ts";
import { CAPABILITY_NAMES } from "./check-provider.ts";
import { FURTHER_PROVIDER_KINDS } from "./provider-list.ts";

/** What the service does for a source or with a wallet. */
export const automationMode = described(
  named(
    "Drives",
    "What the service does automatically. `all`: everything; `finish`: it ends open work and begins nothing new; `nothing`: it only watches.",
    z.enum(AUTOMATION_MODES),
  ),
  "What the service does automatically. The stricter value of payment source and wallet applies.",
  "all",
);

export const providerPurpose = named(
  "RpcProviderUse",
  "What a chain provider is used for.",
  z.enum(PROVIDER_PURPOSES),
);

const furtherProviderKind = described(
  named("FurtherRpcProvider", "API of a further chain provider.", z.enum(FURTHER_PROVIDER_KINDS)),
  "API of the provider. `Blockfrost`: any server with that API. `Ogmios`: a node's, which reads nothing.",
  "Blockfrost",
);
const providerUrlText =
  "Base URL, `https` with a public host or an origin of `PROVIDER_ORIGINS`. Omitted: the deployment's.";
const EXAMPLE_PROVIDER_URL = "https://chain.example/api/v0";

const furtherProviderFields = {
  rpcProvider: furtherProviderKind,
  url: optionalTextParameter(providerUrlText, EXAMPLE_PROVIDER_URL),
  rpcProviderApiKey: described(
    textParameter()
      .regex(/^[\x21-\x7e]*$/, "must be printable ASCII without spaces")
      .optional(),
    "Key of the provider. Omitted: the stored key of the same provider and URL, or none.",
    "preprod4f7Qm2Xc9LrTbV1yHnK8sWzD3gPjE6uA",
  ),
};
const furtherProvider = named(
  "FurtherRpcProviderConfig",
  "A chain provider that a source uses beside its first one.",
  z.object({
    ...furtherProviderFields,
    use: described(
      z.array(providerPurpose).min(1).max(PROVIDER_PURPOSES.length).optional(),
      "What the provider is used for. Omitted: all that it can do.",
      ["reads", "submit"],
    ),
  }),
);
export type FurtherProviderBody = z.output<typeof furtherProvider>;
export const furtherProviders = described(
  z.array(furtherProvider).max(5).optional(),
  "Further chain providers, used in this order after the first. They replace those that were set.",
);

export const checkProviderBody = z.object({
  network,
  ...furtherProviderFields,
  smartContractAddress: described(
    bech32AddressParameter().optional(),
    "Contract whose history the provider must have.",
    EXAMPLE_CONTRACT_ADDRESS,
  ),
  policyId: described(
    textParameter()
      .regex(/^[0-9a-f]{56}$/, "must be 56 lower-case hex digits")
      .optional(),
    "Policy whose history the provider must have. With it, the check is that of a registry source.",
    EXAMPLE_POLICY_ID,
  ),
});
export type CheckProviderBody = z.output<typeof checkProviderBody>;

/** What a source's record shows of its further providers. */
export const providerListFields = {
  RpcProviders: described(
    z.array(
      named(
        "FurtherRpcProviderRecord",
        "A chain provider that a source uses beside its first one.",
        z.object({
          rpcProvider: furtherProviderKind,
          url: nullableTextField("Base URL. Null: the deployment's.", EXAMPLE_PROVIDER_URL),
          rpcProviderApiKey: textField(
            "The key, masked but for its last four characters. Empty: none.",
            "*****E6uA",
          ),
          use: described(z.array(providerPurpose), "What the provider is used for."),
        }),
      ),
    ),
    "Further chain providers, used in this order after the first.",
  ),
  RpcProviderOutages: described(
    z.array(
      named(
        "RpcProviderOutage",
        "That a chain provider of a source does not work, or lacks a use.",
        z.object({
          provider: described(
            z.int().min(0),
            "Position of the provider. 0: the first provider of the source, 1: the first of `RpcProviders`.",
            0,
          ),
          use: described(providerPurpose, "What it is not used for meanwhile.", "reads"),
          since: timestampField("Time of the first failed call."),
          reason: textField("Why calls failed.", "provider: GET /blocks/latest: status 503"),
        }),
      ),
    ),
    "Providers that the service does not use at the moment. Always empty without `RpcProviders`.",
  ),
};
const providerListRecord = z.object(providerListFields);
export type ProviderRecords = z.infer<typeof providerListRecord>;

/** What a check of a provider found. */
export const providerCheck = z.object({
  Capabilities: described(
    z.array(
      named(
        "ProviderCapability",
        "Whether a chain provider has a capability.",
        z.object({
          capability: described(
            named("RpcCapability", "What a chain provider can do.", z.enum(CAPABILITY_NAMES)),
            "What was asked for.",
            "evaluate",
          ),
          state: described(
            named(
              "RpcCapabilityState",
              "Whether a chain provider has a capability.",
              z.enum(["known", "absent", "unknown"]),
            ),
            "`known`: it has the capability; `absent`: it lacks it; `unknown`: it did not tell.",
            "absent",
          ),
          meaning: nullableTextField(
            "What a lack means. Null: nothing is lacking.",
            "Another provider must evaluate scripts.",
          ),
        }),
      ),
    ),
    "Each capability that the service needs of a provider.",
  ),
});

/** Whether the service withdraws sellers' funds at a payment source without a request. */
export const autoWithdrawPayments = described(
  z.boolean().nullable(),
  "Whether selling wallets withdraw payments automatically. Null: as the variable `AUTO_WITHDRAW_PAYMENTS` says.",
  null,
);

/** Whether the service collects buyers' refunds at a payment source without a request. */
export const autoWithdrawRefunds = described(
  z.boolean().nullable(),
  "Whether purchasing wallets collect refunds automatically. Null: as the variable `AUTO_WITHDRAW_REFUNDS` says.",
  null,
);
