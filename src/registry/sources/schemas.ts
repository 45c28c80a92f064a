import * as z from "zod";
import { network } from "../../http/openapi/chain-fields.ts";
import {
  countField,
  described,
  EXAMPLE_POLICY_ID,
  EXAMPLE_TX_HASH,
  idField,
  named,
  nullableTextField,
  textField,
} from "../../http/openapi/fields.ts";
import { textParameter } from "../../http/openapi/parameters.ts";
import { furtherProviders, providerListFields } from "../../sources/schemas.ts";
import { policyIdText } from "../entries/schemas.ts";

const EXAMPLE_SOURCE_ID = "01m80ydyh764k620mzqgxwshp9";
const EXAMPLE_URL = "https://registry.example.com";

// It travels in a header.
const providerKey = described(
  textParameter().regex(/^[\x21-\x7e]*$/, "must be printable ASCII without spaces"),
  "Key of the chain provider.",
  "preprod4f7Qm2Xc9LrTbV1yHnK8sWzD3gPjE6uA",
);
const id = described(textParameter(), "Id of the registry source.", EXAMPLE_SOURCE_ID);

export const createSourceBody = z.object({
  network,
  policyId: described(
    z
      .string()
      .regex(/^[0-9a-fA-F]{56}$/, "must be 56 hex digits")
      .transform((hex) => hex.toLowerCase()),
    "Minting policy to sync.",
    EXAMPLE_POLICY_ID,
  ),
  url: described(z.url().max(250).nullable().default(null), "URL of the registry.", EXAMPLE_URL),
  note: described(textParameter(250, 0).nullable().default(null), "A note for people.", "main"),
  rpcProviderApiKey: providerKey,
  RpcProviders: furtherProviders,
});

export const updateSourceBody = z.object({
  id,
  note: described(textParameter(250, 0).nullable().optional(), "A note for people.", "main"),
  rpcProviderApiKey: providerKey.optional(),
  RpcProviders: furtherProviders,
});

export const deleteSourceBody = z.object({ id });

export const registrySourceRecord = named(
  "RegistrySource",
  "A minting policy whose agents the service syncs.",
  z.object({
    id: idField("the registry source", EXAMPLE_SOURCE_ID),
    type: described(
      z.literal("Web3ChainV1").optional(),
      "Type of the registry. Omitted in the response to a deletion.",
      "Web3ChainV1",
    ),
    network,
    url: nullableTextField("URL of the registry. Null: unknown.", EXAMPLE_URL),
    policyId: policyIdText,
    note: textField("A note for people. Empty: none.", "main"),
    rpcProviderApiKey: textField(
      "Key of the chain provider. Empty: the key that encrypted it is lost.",
      "preprod4f7Qm2Xc9LrTbV1yHnK8sWzD3gPjE6uA",
    ),
    ...providerListFields,
    latestPage: countField("Number of synced pages of transactions.", 1),
    latestIdentifier: nullableTextField(
      "Hash of the last synced transaction. Null: none yet.",
      EXAMPLE_TX_HASH,
    ),
    error: nullableTextField(
      "Why the last sync failed. Null: it succeeded.",
      "The chain provider failed",
    ),
  }),
);
