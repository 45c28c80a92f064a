import * as z from "zod";
import { PROVIDER_PURPOSES, type ProviderPurpose } from "../chain/provider/outage.ts";
import { seal, unseal } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import { listLoopbackOrigins } from "../http/outbound/loopback-origins.ts";
import { type SourceOfProviders, toProvidersEncryptionContext } from "./source-row.ts";

/** Kinds of providers that a source may use beside its first one. */
export const FURTHER_PROVIDER_KINDS = ["Blockfrost", "Ogmios"] as const;
export type ProviderKind = (typeof FURTHER_PROVIDER_KINDS)[number];

/** What a kind can be used for. */
export const KIND_PURPOSES: Record<ProviderKind, readonly ProviderPurpose[]> = {
  Blockfrost: PROVIDER_PURPOSES,
  Ogmios: ["evaluate", "submit"],
};

const FURTHER_PROVIDER = z.object({
  rpcProvider: z.enum(FURTHER_PROVIDER_KINDS),
  /** Base URL; null: the deployment's provider of the network. */
  url: z.string().nullable(),
  /** May be empty. Secret. */
  rpcProviderApiKey: z.string(),
  use: z.array(z.enum(PROVIDER_PURPOSES)),
});

/** A provider of a payment source after its first one. */
export type FurtherProvider = z.infer<typeof FURTHER_PROVIDER>;

/** The further providers of a source, in order. @throws SealError when they cannot be decrypted */
export async function openFurtherProviders(
  env: Pick<Env, "SEALING_KEYS">,
  source: SourceOfProviders,
): Promise<FurtherProvider[]> {
  if (source.rpcProviders === null) return [];
  const text = await unseal(env, toProvidersEncryptionContext(source), source.rpcProviders);
  return z.array(FURTHER_PROVIDER).parse(JSON.parse(text));
}

/** What is stored of them; null when there are none. */
export async function sealFurtherProviders(
  env: Pick<Env, "SEALING_KEYS">,
  source: Pick<SourceOfProviders, "id" | "table">,
  providers: readonly FurtherProvider[],
): Promise<string | null> {
  if (providers.length === 0) return null;
  return seal(env, toProvidersEncryptionContext(source), JSON.stringify(providers));
}

type OutboundEnv = Pick<Env, "DB" | "DNS_OVER_HTTPS_URL" | "LOOPBACK_ORIGINS" | "PROVIDER_ORIGINS">;

/**
 * Which URLs providers may have: public ones, and origins that the deployment lists.
 *
 * @param deadline - epoch milliseconds
 */
export async function readProviderUrlRules(env: OutboundEnv, deadline: number) {
  return {
    loopbackOrigins: await listLoopbackOrigins(env, deadline),
    trustedOrigins: (env.PROVIDER_ORIGINS ?? "").split(",").map((origin) => origin.trim()),
    resolverUrl: env.DNS_OVER_HTTPS_URL,
  };
}
