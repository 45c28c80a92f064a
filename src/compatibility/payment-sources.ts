import * as z from "zod";
import { described, textField } from "../http/openapi/fields.ts";
import { supportedPaymentSources } from "../registry/entries/supported-payment-sources.ts";

type Source = z.input<typeof supportedPaymentSources>[number];

const { id, network, paymentSourceType, address, pricing, extra } =
  supportedPaymentSources.element.shape;

const ledgerSource = z.object({
  chain: described(z.literal("Cardano"), "The ledger.", "Cardano"),
  network,
  paymentSourceType: paymentSourceType.unwrap(),
  address,
  pricing,
});

const evmSource = z.object({
  chain: described(z.literal("EVM"), "An EVM chain.", "EVM"),
  network,
  scheme: textField("Scheme of x402.", "Exact"),
  payTo: textField("Address of the payee.", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"),
  address,
  id,
  extra,
  resource: described(
    z.string().optional(),
    "URL of the resource that x402 pays for. Omitted: any.",
    "https://agents.example.com/translator/run",
  ),
  pricing,
});

/** The ways to pay an agent, as clients of other services read them. */
export const externalPaymentSources = described(
  z.array(z.union([ledgerSource, evmSource])).nullable(),
  "The ways to pay an agent of Web3ChainV2. Null for an agent of Web3ChainV1.",
);

/**
 * The ways to pay an agent, without null members, and without those that the clients' schemas refuse.
 *
 * @param sources - `SupportedPaymentSources` of an answer
 */
export function toExternalPaymentSources(sources: unknown): z.input<typeof externalPaymentSources> {
  const known = (sources as Source[]).flatMap((source) => {
    const { chain, scheme, payTo, resource, sourceIndex: _, id, extra, ...rest } = source;
    const { paymentSourceType: type, ...shared } = rest;
    if (chain === "Cardano" && type !== null)
      return { ...shared, chain: "Cardano" as const, paymentSourceType: type };
    if (chain !== "EVM" || scheme === null || payTo === null) return [];
    return {
      ...shared,
      ...(id !== undefined && { id }),
      ...(extra !== undefined && { extra }),
      chain: "EVM" as const,
      scheme,
      payTo,
      ...(resource !== null && { resource }),
    };
  });
  return known.length > 0 ? known : null;
}
