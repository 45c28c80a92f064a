/**
 * What other services read of the tokens that this service mints. Their readers are stricter. The
 * registry service refuses an entry of version 2 for one unknown field. The payment service drops its
 * whole list of agents for one price that it cannot read.
 */
import * as z from "zod";

/** A text, in one piece or in several. */
const leaf = z.union([z.string(), z.array(z.string())]).transform((text) => [text].flat().join(""));
const filled = leaf.pipe(z.string().min(1));
/** A text that is read in one piece only. */
const short = z
  .union([z.string().max(60), z.tuple([z.string().max(60)])])
  .transform((text) => [text].flat().join(""))
  .pipe(z.string().min(1));
const amount = z.string().regex(/^[1-9]\d*$/);
const free = z.strictObject({ pricingType: z.literal("Free") });
const dynamic = z.strictObject({ pricingType: z.literal("Dynamic") });

const agent = {
  name: filled,
  description: leaf.optional(),
  api_base_url: filled,
  example_output: z.array(z.strictObject({ name: short, mime_type: short, url: leaf })).optional(),
  capability: z.strictObject({ name: leaf, version: short }).optional(),
  author: z.strictObject({
    name: filled,
    contact_email: leaf.optional(),
    contact_other: leaf.optional(),
    organization: leaf.optional(),
  }),
  legal: z
    .strictObject({
      privacy_policy: leaf.optional(),
      terms: leaf.optional(),
      other: leaf.optional(),
    })
    .optional(),
  tags: z.array(z.string().min(1)).min(1),
  image: filled,
};

/** The metadata of an agent, version 1. */
const agentOfVersion1 = z.strictObject({
  ...agent,
  agentPricing: z.union([
    z.strictObject({
      pricingType: z.literal("Fixed"),
      fixedPricing: z
        .array(z.strictObject({ unit: leaf, amount }))
        .min(1)
        .max(25),
    }),
    free,
    dynamic,
  ]),
  metadata_version: z.literal("1"),
});

/** A text that is one string unless it is too long; an empty list is none. */
const asset = z
  .union([z.string().max(60), z.array(z.string().max(60)).min(1)])
  .transform((text) => [text].flat().join(""));

const decimals = z.string().regex(/^\d{1,3}$/);
const paidByEscrow = z.strictObject({
  chain: z.literal("Cardano"),
  network: z.enum(["Preprod", "Mainnet"]),
  settlement: z.strictObject({ paymentSourceType: z.literal("Web3CardanoV2"), address: filled }),
  pricing: z.union([
    z.strictObject({
      pricingType: z.literal("Fixed"),
      fixed: z.array(z.strictObject({ asset, amount })).min(1).max(25),
    }),
    free,
    dynamic,
  ]),
});
const paidOverX402 = z.strictObject({
  chain: z.literal("EVM"),
  network: z.string().regex(/^eip155:\d+$/),
  settlement: z.strictObject({
    scheme: z.literal("Exact"),
    payTo: filled,
    resource: filled.optional(),
    extra: z.record(z.string(), z.unknown()).optional(),
  }),
  pricing: z.union([
    z.strictObject({
      pricingType: z.literal("Fixed"),
      fixed: z.array(z.strictObject({ asset, amount, decimals })).length(1),
    }),
    free,
    dynamic.extend({ dynamic: z.array(z.strictObject({ asset, decimals })).length(1).optional() }),
  ]),
});
const withAid = z.strictObject({ aid: filled, oobi: filled });
const withSaid = z.strictObject({ said: filled, oobi: filled });
const credential = z.strictObject({
  method: filled,
  schemaVersion: filled.optional(),
  issuer: withAid,
  schema: withSaid,
  credential: withSaid.extend({ registry: filled.optional() }),
  holder: withAid,
  baseUrl: filled.optional(),
});

/** The metadata of an agent, version 2. */
const agentOfVersion2 = z.strictObject({
  ...agent,
  supported_payment_sources: z
    .array(z.union([paidByEscrow, paidOverX402]))
    .min(1)
    .max(25),
  verifications: z.array(credential).min(1).max(10).optional(),
  metadata_version: z.literal("2"),
});

const inbox = (type: string) =>
  z.strictObject({
    type: z.literal(type),
    name: leaf.pipe(z.string().min(1).max(120)),
    description: leaf.pipe(z.string().max(500)).optional(),
    agentslug: leaf.pipe(z.string().min(1).max(80)),
    metadata_version: z.literal("1"),
  });

/** The readers of agents and of inbox agents, by generation of the contract. */
export const FOREIGN_READERS = {
  Web3ChainV1: { agent: agentOfVersion1, inbox: inbox("MasumiInboxV1") },
  Web3ChainV2: { agent: agentOfVersion2, inbox: inbox("MasumiInboxV2") },
} as const;
