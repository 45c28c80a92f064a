import * as z from "zod";
import type { PaymentSourceType } from "../../chain/network.ts";
import {
  amountField,
  joinChunks,
  LEDGER_NAME,
  listField,
  optionalTextField,
  recordField,
  sourceTypeOf,
  textField,
  unitField,
  versionField,
} from "../metadata/fields.ts";
import { type AgentVerification, readVerifications } from "./verification.ts";

/** An amount of a price: decimal text of minor units; `unit` is `""` for the native coin. */
export interface PriceAmount {
  amount: string;
  unit: string;
}

const PRICING_TYPES = ["Fixed", "Free", "Dynamic"] as const;
export const PAYMENT_TYPES = ["Web3ChainV1", "Web3ChainV2", "None"] as const;

/** What an agent's token says of it. */
export interface AgentProfile {
  name: string;
  description: string | null;
  apiBaseUrl: string;
  image: string;
  tags: string[];
  capability: { name: string; version: string } | null;
  author: {
    name: string;
    organization: string | null;
    contactEmail: string | null;
    contactOther: string | null;
  };
  legal: { privacyPolicy: string | null; terms: string | null; other: string | null };
  exampleOutputs: { name: string; mimeType: string; url: string }[];
  pricing: { type: (typeof PRICING_TYPES)[number]; amounts: PriceAmount[] };
  paymentType: (typeof PAYMENT_TYPES)[number];
  metadataVersion: 1 | 2;
  /** Metadata version 2: how it can be paid, in its order. Left out of version 1. */
  paymentSources?: ListedSource[];
  /** Metadata version 2: credentials about it. Left out where there are none. */
  verifications?: AgentVerification[];
}

/** One of the ways in which an agent can be paid; null is what cannot be read. */
export interface ListedSource {
  /** Whether it is on our ledger. */
  isOnLedger: boolean;
  /** Name of the chain in the metadata. */
  chain: string;
  network: string | null;
  /** Generation of the escrow contract. */
  type: PaymentSourceType | null;
  contractAddress: string | null;
  pricing: AgentProfile["pricing"] | null;
  /** On another chain: how and to whom a buyer pays. */
  scheme: string | null;
  payTo: string | null;
  resource: string | null;
  /** Decimals of the first price's token, where the metadata has them. */
  decimals: number | null;
  /** On another chain, of a dynamic price: the only token that it takes. Left out: any. */
  dynamicAsset?: string;
  /** On another chain: what the agent adds for its buyers. */
  extra?: Record<string, unknown>;
  /** On another chain, of an agent that was registered here: id of the paid resource that settles it. */
  resourceId?: string;
}

export type ProfileResult = { ok: true; profile: AgentProfile } | { ok: false; reason: string };

/** Amounts that a fixed price may have. */
export const MAX_PRICES = 25;
/** Ways to be paid that an agent may list. */
export const MAX_PAYMENT_SOURCES = 25;
/** Problems reported at most. */
const MAX_LISTED_PROBLEMS = 5;

/**
 * Reads an agent's metadata, versions 1 and 2, as registries write it: a text is one string, or a
 * list of its pieces. Unknown fields are ignored.
 *
 * @param value - the token's JSON under label 721; undefined: none
 * @returns the profile, or why there is none, for operators: `author.name: is missing; …`
 */
export function readProfile(value: unknown): ProfileResult {
  if (value === undefined) return { ok: false, reason: "metadata: is missing" };
  const version = recordField({ metadata_version: versionField }).safeParse(value);
  if (!version.success) return { ok: false, reason: reasonOf(version.error) };
  const parsed = (
    version.data.metadata_version === 1 ? metadataV1Schema : metadataV2Schema
  ).safeParse(value);
  return parsed.success
    ? { ok: true, profile: parsed.data }
    : { ok: false, reason: reasonOf(parsed.error) };
}

function reasonOf({ issues }: z.ZodError): string {
  const listed = issues
    .slice(0, MAX_LISTED_PROBLEMS)
    .map(({ path, message }) => `${path.join(".") || "metadata"}: ${message}`)
    .join("; ");
  const rest = issues.length - MAX_LISTED_PROBLEMS;
  return rest > 0 ? `${listed}; and ${rest} more` : listed;
}

const BASE_FIELDS = {
  name: textField,
  description: optionalTextField,
  api_base_url: textField,
  image: textField,
  tags: listField(textField, 1, 1000),
  example_output: listField(
    recordField({ name: textField, mime_type: textField, url: textField }),
    0,
    1000,
  ).optional(),
  capability: recordField({ name: optionalTextField, version: optionalTextField }).optional(),
  author: recordField({
    name: textField,
    organization: optionalTextField,
    contact_email: optionalTextField,
    contact_other: optionalTextField,
  }),
  legal: recordField({
    privacy_policy: optionalTextField,
    terms: optionalTextField,
    other: optionalTextField,
  }).optional(),
};

const pricingTypeField = z.unknown().transform((value, problems) => {
  const text = joinChunks(value, problems);
  const found = PRICING_TYPES.find((type) => type === text);
  if (found !== undefined) return found;
  problems.addIssue(`must be one of ${PRICING_TYPES.join(", ")}`);
  return z.NEVER;
});

/** `{pricingType, <list>: [{amount, <unit>}]}`: the two versions name the inner fields differently. */
function pricingField(listName: string, unitName: string, unit: z.ZodType<string> = unitField) {
  return recordField({
    pricingType: pricingTypeField,
    [listName]: z.unknown().optional(),
  }).transform((value, problems): AgentProfile["pricing"] => {
    const type = value.pricingType as AgentProfile["pricing"]["type"];
    if (type !== "Fixed") return { type, amounts: [] };
    const price = recordField({ amount: amountField, [unitName]: unit });
    const parsed = listField(price, 1, MAX_PRICES).safeParse(value[listName]);
    if (parsed.success)
      return {
        type,
        amounts: parsed.data.map((one) => ({
          amount: String(one.amount),
          unit: String(one[unitName]),
        })),
      };
    for (const { path, message } of parsed.error.issues)
      problems.addIssue({ code: "custom", path: [listName, ...path], message });
    return z.NEVER;
  });
}

type BaseFields = z.output<z.ZodObject<typeof BASE_FIELDS>>;

function toProfile(
  base: BaseFields,
  price: AgentProfile["pricing"],
  metadataVersion: 1 | 2,
): AgentProfile {
  const { author, legal, capability } = base;
  const named = capability?.name && capability.version;
  return {
    name: base.name,
    description: base.description,
    apiBaseUrl: base.api_base_url,
    image: base.image,
    tags: base.tags,
    capability: named ? { name: capability.name ?? "", version: named } : null,
    author: {
      name: author.name,
      organization: author.organization,
      contactEmail: author.contact_email,
      contactOther: author.contact_other,
    },
    legal: {
      privacyPolicy: legal?.privacy_policy ?? null,
      terms: legal?.terms ?? null,
      other: legal?.other ?? null,
    },
    exampleOutputs: (base.example_output ?? []).map(({ name, mime_type, url }) => ({
      name,
      mimeType: mime_type,
      url,
    })),
    pricing: price,
    paymentType:
      price.type === "Free" ? "None" : metadataVersion === 1 ? "Web3ChainV1" : "Web3ChainV2",
    metadataVersion,
  };
}

const metadataV1Schema = recordField({
  ...BASE_FIELDS,
  agentPricing: pricingField("fixedPricing", "unit"),
}).transform((value) => toProfile(value, value.agentPricing, 1));

/** A payment source without an address cannot be paid to. */
const settlementSchema = recordField({ address: textField });

const paymentSourceSchema = recordField({
  chain: textField,
  network: z.unknown().optional(),
  settlement: z.unknown().optional(),
  pricing: z.unknown().optional(),
});

const partialSettlementSchema = z.object({
  paymentSourceType: optionalTextField,
  address: optionalTextField,
  scheme: optionalTextField,
  payTo: optionalTextField,
  resource: optionalTextField,
});

const decimalsField = z.union([
  z.int(),
  z
    .string()
    .regex(/^\d{1,3}$/)
    .transform(Number),
]);
const decimalsSchema = z.object({ decimals: decimalsField.pipe(z.int().min(0).max(255)) });
const dynamicAssetSchema = z.object({ asset: textField });
const pricingListsSchema = z.object({
  fixed: z.array(z.unknown()).optional().catch(undefined),
  dynamic: z.array(z.unknown()).optional().catch(undefined),
});
const extraSchema = z.object({ extra: z.record(z.string(), z.unknown()) });

function toListedSource(source: z.output<typeof paymentSourceSchema>): ListedSource {
  const network = optionalTextField.safeParse(source.network);
  const settlement = partialSettlementSchema.safeParse(source.settlement);
  const lists = pricingListsSchema.safeParse(source.pricing).data;
  const isOnLedger = source.chain === LEDGER_NAME;
  // Other chains have no unit that may be left out.
  const price = pricingField("fixed", "asset", isOnLedger ? unitField : textField).safeParse(
    source.pricing,
  );
  const [token] = (price.data?.type === "Dynamic" ? lists?.dynamic : lists?.fixed) ?? [];
  const dynamicAsset =
    price.data?.type === "Dynamic" &&
    !isOnLedger &&
    dynamicAssetSchema.safeParse(token).data?.asset;
  const extra = !isOnLedger && extraSchema.safeParse(source.settlement).data?.extra;
  return {
    isOnLedger,
    chain: source.chain,
    network: network.data ?? null,
    type: sourceTypeOf(settlement.data?.paymentSourceType),
    contractAddress: settlement.data?.address ?? null,
    pricing: price.data ?? null,
    scheme: settlement.data?.scheme ?? null,
    payTo: settlement.data?.payTo ?? null,
    resource: settlement.data?.resource ?? null,
    decimals: decimalsSchema.safeParse(token).data?.decimals ?? null,
    ...(dynamicAsset && { dynamicAsset }),
    ...(extra && { extra }),
  };
}

/** The price is that of the first payment source on our ledger; without one the agent is free. */
const metadataV2Schema = recordField({
  ...BASE_FIELDS,
  supported_payment_sources: listField(paymentSourceSchema, 1, MAX_PAYMENT_SOURCES),
  verifications: z.unknown().optional().transform(readVerifications),
}).transform((value, problems): AgentProfile => {
  const position = value.supported_payment_sources.findIndex(
    ({ chain, settlement }) =>
      chain === LEDGER_NAME && settlementSchema.safeParse(settlement).success,
  );
  const source = value.supported_payment_sources[position];
  const listed = {
    paymentSources: value.supported_payment_sources.map(toListedSource),
    ...(value.verifications.length > 0 && { verifications: value.verifications }),
  };
  if (!source) return { ...toProfile(value, { type: "Free", amounts: [] }, 2), ...listed };
  const price = pricingField("fixed", "asset").safeParse(source.pricing);
  if (price.success) return { ...toProfile(value, price.data, 2), ...listed };
  for (const { path, message } of price.error.issues)
    problems.addIssue({
      code: "custom",
      path: ["supported_payment_sources", position, "pricing", ...path],
      message,
    });
  return z.NEVER;
});
