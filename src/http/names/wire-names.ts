/**
 * Names on the wire. Our own names do not contain the chain's name; those of the services that clients
 * come from do. Requests may have either spelling (`translate.ts`). Answers, events and the OpenAPI
 * document have the spelling that the variable `WIRE_NAMES` chooses for the whole deployment.
 */

/** Fields, by their name in the interface. */
export const EXTERNAL_FIELD_NAMES = {
  totalBuyerChainFees: "totalBuyerCardanoFees",
  totalSellerChainFees: "totalSellerCardanoFees",
  collateralReturnMinorUnit: "collateralReturnLovelace",
  sendFundingMinorUnit: "sendFundingLovelace",
  minorUnitAmount: "lovelaceAmount",
} as const;

/** Values that are not free text, by their name in the interface. */
export const EXTERNAL_VALUE_NAMES = {
  Web3ChainV1: "Web3CardanoV1",
  Web3ChainV2: "Web3CardanoV2",
  CHAT: "SLACK",
  ChainV2: "CardanoV2",
  "chain.payment_source": "cardano.payment_source",
  "chain.contract_current": "cardano.contract_current",
  "chain.rpc_provider": "cardano.rpc_provider",
  "chain.admin_signatures": "cardano.admin_signatures",
  "chain.selling_wallet": "cardano.selling_wallet",
  "chain.purchasing_wallet": "cardano.purchasing_wallet",
  "chain.payments_enabled": "cardano.payments_enabled",
} as const;

/** Values that are common words: they are renamed as values, and never inside a text. */
const EXTERNAL_WORDS = { Chain: "Cardano" } as const;

/**
 * Whether this deployment says the names of the other services. Workers have their variables in
 * `process.env` as well, and what is rendered far from any request needs this one.
 */
export const USES_EXTERNAL_NAMES = process.env.WIRE_NAMES === "cardano";

/** What this deployment calls a field. */
export function toWireFieldName(name: string): string {
  return USES_EXTERNAL_NAMES ? translateName(EXTERNAL_FIELD_NAMES, name) : name;
}

/** What this deployment calls a value that is not free text. */
export function toWireValueName(name: string): string {
  return USES_EXTERNAL_NAMES
    ? translateName({ ...EXTERNAL_VALUE_NAMES, ...EXTERNAL_WORDS }, name)
    : name;
}

/**
 * The version of rendered documents of this deployment: those in the other spelling are others.
 *
 * @param version - raised whenever what is rendered changes
 */
export function toDocumentVersion(version: number): number {
  return USES_EXTERNAL_NAMES ? version + 1_000 : version;
}

/** What clients that come from other services call a field of the interface. */
export function toExternalFieldName(name: string): string {
  return translateName(EXTERNAL_FIELD_NAMES, name);
}

/** What such a client means by a value; any other is its own name. */
export function toInternalValueName(name: string): string {
  return INTERNAL_VALUE_NAMES.get(name) ?? name;
}

/** A text of our own, such as a message or the OpenAPI document, with the names of this deployment. */
export function toWireText(text: string): string {
  if (!USES_EXTERNAL_NAMES) return text;
  return text.replace(NAMES_PATTERN, (name) =>
    translateName(EXTERNAL_VALUE_NAMES, translateName(EXTERNAL_FIELD_NAMES, name)),
  );
}

function translateName(names: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(names, name) ? (names[name] ?? name) : name;
}

const INTERNAL_VALUE_NAMES = new Map<string, string>(
  Object.entries({ ...EXTERNAL_VALUE_NAMES, ...EXTERNAL_WORDS }).map(([own, other]) => [
    other,
    own,
  ]),
);

const NAMES_PATTERN = new RegExp(
  `(?<![\\w.])(?:${[...Object.keys(EXTERNAL_FIELD_NAMES), ...Object.keys(EXTERNAL_VALUE_NAMES)].map(escapePattern).join("|")})(?!\\w)`,
  "g",
);

function escapePattern(name: string): string {
  return name.replaceAll(".", "\\.");
}
