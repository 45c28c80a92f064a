import * as z from "zod";
import { jsonToMetadatum, MetadatumError } from "../chain/metadata.ts";
import { network, paymentSourceType, requestUnit } from "../http/openapi/chain-fields.ts";
import { described, EXAMPLE_CONTRACT_ADDRESS, named } from "../http/openapi/fields.ts";
import { optionalTextParameter, textParameter } from "../http/openapi/parameters.ts";
import { MAX_PAYMENT_SOURCES } from "../registry/entries/profile.ts";
import {
  caip2,
  EXAMPLE_ASSET,
  EXAMPLE_PAY_TO,
  EXAMPLE_RESOURCE_URL,
  evmAddress,
  tokenAddress,
} from "../x402/model/schemas.ts";

/** Amounts of a fixed price on the ledger. */
const MAX_LEDGER_PRICES = 5;
/** Readers of the registry store amounts in 64 bits. */
const MAX_AMOUNT = 2n ** 63n - 1n;
const MAX_SAFE = Number.MAX_SAFE_INTEGER;

const amount = described(
  z
    .string()
    .regex(/^[1-9]\d{0,18}$/, { error: "must be a whole number above 0", abort: true })
    .refine((text) => BigInt(text) <= MAX_AMOUNT, `must be at most ${MAX_AMOUNT}`)
    .meta({ wire: { type: "string", pattern: "^[1-9]\\d{0,17}$" } }),
  "Minor units of `asset`.",
  "5000000",
);
/** A pricing that has no amounts. */
export const otherPricing = z.object({
  pricingType: described(
    named(
      "OtherPricingType",
      "A type of pricing without a fixed price.",
      z.enum(["Free", "Dynamic"]),
    ),
    "Type of the pricing.",
    "Free",
  ),
});
export const fixedType = described(z.literal("Fixed"), "Type of the pricing.", "Fixed");

const ledgerPricing = z.discriminatedUnion("pricingType", [
  z.object({
    pricingType: fixedType,
    fixed: described(
      z
        .array(z.object({ asset: requestUnit, amount }))
        .min(1)
        .max(MAX_LEDGER_PRICES),
      "Amounts of the price, which a buyer pays together.",
    ),
  }),
  otherPricing,
]);

const token = {
  asset: described(tokenAddress, "Address of the token.", EXAMPLE_ASSET),
  decimals: described(
    z.int().min(0).max(255).optional(),
    "Decimals of the token. The token's contract must say the same.",
    6,
  ),
};

const evmPricing = z.discriminatedUnion("pricingType", [
  z.object({
    pricingType: fixedType,
    fixed: described(z.array(z.object({ ...token, amount })).length(1), "The price."),
  }),
  z.object({
    pricingType: described(z.literal("Dynamic"), "Type of the pricing.", "Dynamic"),
    dynamic: described(
      z.array(z.object(token)).length(1).optional(),
      "The only token that the agent takes. Omitted: any.",
    ),
  }),
  z.object({ pricingType: described(z.literal("Free"), "Type of the pricing.", "Free") }),
]);

const ledgerSource = named(
  "RequestedLedgerSource",
  "Payment by escrow on the ledger.",
  z.object({
    chain: described(z.literal("Chain"), "The ledger.", "Chain"),
    network,
    paymentSourceType: described(
      paymentSourceType.default("Web3ChainV2"),
      "Generation of the escrow contract: `Web3ChainV2`.",
      "Web3ChainV2",
    ),
    address: optionalTextParameter(
      "Contract of a payment source with the agent's policy. Default: that of the selling wallet's payment source.",
      EXAMPLE_CONTRACT_ADDRESS,
    ),
    pricing: described(ledgerPricing, "The price."),
  }),
);

const extra = described(
  z
    .record(z.string(), z.unknown())
    .superRefine((value, problems) => {
      try {
        jsonToMetadatum(value);
      } catch (error) {
        if (!(error instanceof MetadatumError)) throw error;
        problems.addIssue({ code: "custom", message: error.message });
      }
    })
    .meta({
      wire: {
        type: "object",
        propertyNames: { type: "string", maxLength: 16 },
        additionalProperties: {
          type: ["string", "integer"],
          maxLength: 16,
          minimum: -MAX_SAFE,
          maximum: MAX_SAFE,
        },
      },
    }),
  "What buyers over x402 read besides, such as `name` and `version` of the token's EIP-712 domain. Lists and objects may nest; texts have at most 64 bytes.",
  { name: "Test Dollar", version: "1" },
);

const evmSource = named(
  "RequestedEvmSource",
  "Payment over x402 on an EVM chain that this service settles on.",
  z.object({
    chain: described(z.literal("EVM"), "An EVM chain.", "EVM"),
    network: caip2,
    scheme: described(z.literal("Exact").default("Exact"), "Scheme of x402.", "Exact"),
    payTo: described(evmAddress, "Address of the payee.", EXAMPLE_PAY_TO),
    address: described(evmAddress.optional(), "The same as `payTo`.", EXAMPLE_PAY_TO),
    resource: described(
      textParameter(500)
        .refine(
          (url) => /^https?:\/\//i.test(url) && URL.canParse(url),
          "must be an http or https URL",
        )
        .meta({ format: "uri", pattern: "^[Hh][Tt][Tt][Pp][Ss]?://" })
        .nullish(),
      "URL of the resource that a buyer pays for. Omitted or null: any.",
      EXAMPLE_RESOURCE_URL,
    ),
    extra: extra.optional(),
    pricing: described(evmPricing, "The price."),
  }),
);

/** The ways to pay an agent, in a request. */
export const requestedSources = described(
  z
    .array(z.discriminatedUnion("chain", [ledgerSource, evmSource]))
    .min(1)
    .max(MAX_PAYMENT_SOURCES),
  "The ways to pay an agent of Web3ChainV2, each with its own price, in place of `AgentPricing`. A quote names one by its position.",
);

export type RequestedSource = z.output<typeof requestedSources>[number];
export type RequestedLedgerSource = z.output<typeof ledgerSource>;
export type RequestedEvmSource = z.output<typeof evmSource>;
