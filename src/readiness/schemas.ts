import * as z from "zod";
import { network } from "../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_CONTRACT_ADDRESS,
  EXAMPLE_POLICY_ID,
  hexField,
  named,
  nullableTextField,
  textField,
} from "../http/openapi/fields.ts";

/** What each check is about; their ids are what marketplaces look for. */
export const CHAIN_CHECKS = {
  "chain.payment_source": "A payment source follows a contract of Web3ChainV2",
  "chain.contract_current": "The contract is of the current deployment",
  "chain.rpc_provider": "The chain provider answers",
  "chain.admin_signatures": "Disputes can be settled by the contract's administrators",
  "chain.selling_wallet": "A selling wallet makes quotes",
  "chain.purchasing_wallet": "A purchasing wallet locks funds",
  "chain.payments_enabled": "The payment source begins new payments",
} as const;

export const X402_CHECKS = {
  "x402.enabled_chain": "An EVM chain is enabled",
  "x402.rpc_url": "The chain has an RPC node",
  "x402.facilitator": "The chain has a facilitator wallet",
  "x402.selling_wallet": "A wallet sends settlements",
  "x402.purchasing_wallet": "A wallet pays",
  "x402.budget": "An API key has a budget for the wallet that pays",
} as const;

const CHECK_IDS = [...Object.keys(CHAIN_CHECKS), ...Object.keys(X402_CHECKS)] as (
  | keyof typeof CHAIN_CHECKS
  | keyof typeof X402_CHECKS
)[];

export const railCheck = named(
  "RailCheck",
  "A requirement of a rail.",
  z.object({
    id: described(
      named("RailCheckId", "Id of a requirement.", z.enum(CHECK_IDS)),
      "Id of the requirement, for programs.",
      "chain.purchasing_wallet",
    ),
    label: textField("Name of the requirement.", CHAIN_CHECKS["chain.purchasing_wallet"]),
    isComplete: described(z.boolean(), "Whether the requirement is met.", true),
    detail: nullableTextField("What is missing. Null: nothing.", "There is no purchasing wallet"),
  }),
);

const checks = z.array(railCheck);

const purchaseSource = named(
  "PurchaseSource",
  "A payment source for purchases.",
  z.object({
    policyId: described(
      hexField(56, "", EXAMPLE_POLICY_ID).nullable(),
      "Policy of the agents' tokens, in hex.",
    ),
    smartContractAddress: textField(
      "Address of the contract, in bech32.",
      EXAMPLE_CONTRACT_ADDRESS,
    ),
    isPurchaseReady: described(z.boolean(), "Whether the source is ready for purchases.", true),
    Checks: described(checks, "Requirements of purchases."),
  }),
);

export const readiness = z.object({
  network,
  Rails: described(
    z.array(
      named(
        "Rail",
        "A payment rail.",
        z.object({
          rail: described(
            named("RailName", "Name of a rail.", z.enum(["ChainV2", "X402"])),
            "Escrows of Web3ChainV2, or x402 on EVM chains.",
            "ChainV2",
          ),
          isReady: described(z.boolean(), "Whether the rail is ready.", true),
          Checks: described(
            checks,
            "Requirements of the rail, for the source or chain that lacks the fewest.",
          ),
          PurchaseSources: described(
            z.array(purchaseSource).optional(),
            "Payment sources of the rail ChainV2, oldest first.",
          ),
        }),
      ),
    ),
    "The rails.",
  ),
});

export const readinessQuery = z.object({ network });
