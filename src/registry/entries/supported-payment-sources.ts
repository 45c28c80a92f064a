import * as z from "zod";
import type { Network, PaymentSourceType } from "../../chain/network.ts";
import { toWireValueName } from "../../http/names/wire-names.ts";
import { paymentSourceType } from "../../http/openapi/chain-fields.ts";
import { described, minorUnitsField, named, textField } from "../../http/openapi/fields.ts";
import { LEDGER_NAME } from "../metadata/fields.ts";
import type { AgentProfile, ListedSource } from "./profile.ts";

const EXAMPLE_PAYEE = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const EXAMPLE_TOKEN = "0x5fbdb2315678afecb367f032d93f642f64180aa3";
const EXAMPLE_RESOURCE = "https://agents.example.com/translator/run";

/** A text of an agent's metadata that it may leave out. */
export function optionalText(what: string, example: string) {
  return described(z.string().nullable(), `${what}. Null: none.`, example);
}

export const pricingType = described(
  named("PricingType", "A type of pricing.", z.enum(["Fixed", "Free", "Dynamic"])),
  "Type of the pricing.",
  "Fixed",
);

const decimals = described(
  z.int().min(0).max(255).optional(),
  "Decimals of the token. Omitted: not listed.",
  6,
);

/** The ways to pay an agent, in an answer. */
export const supportedPaymentSources = described(
  z.array(
    named(
      "SupportedPaymentSource",
      "A way to pay an agent, as its token lists it.",
      z.object({
        id: described(
          z.string().optional(),
          "Id of the paid resource for `POST /x402/settle`. Omitted: none, or the agent was registered elsewhere.",
          "01m80ydyvfm72p96eyrddq8dsz",
        ),
        chain: textField(
          "Name of the chain, as the agent lists it; the ledger has the name of this API.",
          "EVM",
        ),
        network: textField("Network of the chain.", "eip155:8453"),
        sourceIndex: described(z.int().min(0), "Position in the list of the token.", 0),
        paymentSourceType: described(
          paymentSourceType.nullable(),
          "Generation of the escrow contract. Null: no escrow.",
        ),
        address: textField("Address of the contract, else of the payee.", EXAMPLE_PAYEE),
        scheme: optionalText("Scheme of x402", "Exact"),
        pricing: described(
          z.object({
            pricingType,
            fixed: described(
              z
                .array(
                  z.object({
                    asset: described(z.string(), "A unit, or the address of a token.", ""),
                    amount: minorUnitsField("Minor units of `asset`."),
                    decimals,
                  }),
                )
                .optional(),
              "Amounts of a fixed price. Omitted: the price is not fixed.",
            ),
            dynamic: described(
              z
                .array(
                  z.object({
                    asset: textField("Address of the token.", EXAMPLE_TOKEN),
                    decimals,
                  }),
                )
                .optional(),
              "The only token of a dynamic price. Omitted: any, or the price is not dynamic.",
            ),
          }),
          "The price.",
        ),
        payTo: optionalText("Address of the payee on another chain", EXAMPLE_PAYEE),
        resource: optionalText("URL of the resource that x402 pays for", EXAMPLE_RESOURCE),
        extra: described(
          z.record(z.string(), z.unknown()).optional(),
          "What the agent adds for buyers over x402. Omitted: nothing.",
          { name: "Test Dollar", version: "1" },
        ),
      }),
    ),
  ),
  "The ways to pay an agent of Web3ChainV2. Empty for an agent of Web3ChainV1.",
);

/** The only way to pay an agent of a payment source of Web3ChainV2. */
export function createListedSource(
  source: { network: Network; type: PaymentSourceType; contractAddress: string },
  pricing: AgentProfile["pricing"],
): ListedSource {
  const { network, type, contractAddress } = source;
  return {
    isOnLedger: true,
    chain: LEDGER_NAME,
    network,
    type,
    contractAddress,
    pricing,
    scheme: null,
    payTo: null,
    resource: null,
    decimals: null,
  };
}

/** The ways to pay an agent, in the order of its token, without those that a buyer cannot use. */
export function toSourceResponses({ paymentSources = [] }: AgentProfile) {
  return paymentSources.flatMap((source, sourceIndex) => {
    const { network, pricing, scheme, payTo, resource, type } = source;
    const { dynamicAsset, extra, resourceId } = source;
    const address = source.contractAddress ?? payTo;
    if (network === null || address === null || pricing === null) return [];
    const decimals = source.decimals !== null && { decimals: source.decimals };
    const fixed = pricing.amounts.map(({ unit, amount }, i) => ({
      asset: unit,
      amount,
      ...(i === 0 && decimals),
    }));
    return {
      ...(resourceId !== undefined && { id: resourceId }),
      // A word that is no value of an enumeration, so nothing renames it later.
      chain: toWireValueName(source.isOnLedger ? "Chain" : source.chain),
      network,
      sourceIndex,
      paymentSourceType: type,
      address,
      scheme,
      pricing: {
        pricingType: pricing.type,
        ...(pricing.type === "Fixed" && { fixed }),
        ...(dynamicAsset !== undefined && { dynamic: [{ asset: dynamicAsset, ...decimals }] }),
      },
      payTo,
      resource,
      ...(extra !== undefined && { extra }),
    };
  });
}
