/** Values of the API as people read them. Amounts are whole minor units and never become floating point. */
import { signal } from "@preact/signals";

/** What a unit is called and how many decimals it has, by unit (`GET /units`). */
export const unitDetails = signal<ReadonlyMap<string, { ticker: string; decimals: number }>>(
  new Map([["", { ticker: "ADA", decimals: 6 }]]),
);

/** Undefined: the service does not know them. */
export const decimalsOf = (unit: string) => unitDetails.value.get(unit)?.decimals;

/** An amount in minor units with its unit's decimals, and digits in groups of three: `1 234.5`. */
export function formatAmount(amount: string, unit: string): string {
  return formatUnits(amount, decimalsOf(unit) ?? 0);
}

/** A text that no line breaks, such as an amount and its unit. */
export const keepOnOneLine = (text: string) => text.replaceAll(" ", "\u00a0");

/** An amount in minor units with its decimals; null: they are not known. */
export function formatUnits(amount: string, decimals: number | null): string {
  if (!/^-?\d+$/.test(amount) || decimals === null) return amount;
  const isNegative = amount.startsWith("-");
  const digits = amount.replace("-", "").padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(\d{3})+$)/g, " ");
  const rest = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return `${isNegative ? "−" : ""}${whole}${rest && `.${rest}`}`;
}

/** What a unit is called: its ticker, else its asset name where that is readable, else its id, shortened. */
export function formatUnit(unit: string): string {
  const known = unitDetails.value.get(unit)?.ticker;
  if (known !== undefined) return known;
  return unit === "" ? "native" : (decodeAssetName(unit) ?? shortenId(unit));
}

/** An amount with its unit. Where a token's decimals are not known, it is in minor units, and says so. */
export function formatFunds(amount: string, unit: string): string {
  return `${formatAmount(amount, unit)} ${formatUnitOf(amount, unit)}`;
}

/** What stands behind an amount. One minor unit is a whole token, such as that of an agent. */
export function formatUnitOf(amount: string, unit: string): string {
  const name = formatUnit(unit);
  const isKnown = unitDetails.value.has(unit) || amount === "0" || amount === "1";
  return isKnown ? name : `minor units of ${name}`;
}

const POLICY_DIGITS = 56;

function decodeAssetName(unit: string): string | null {
  const hex = unit.slice(POLICY_DIGITS);
  if (unit.length <= POLICY_DIGITS || !/^([0-9a-f]{2})+$/.test(hex)) return null;
  const bytes = hex.match(/../g)?.map((pair) => Number.parseInt(pair, 16)) ?? [];
  const isReadable = bytes.every((byte) => byte > 0x20 && byte < 0x7f);
  return isReadable ? String.fromCharCode(...bytes) : null;
}

/** A minor unit amount from what a person typed in whole units; null when it is none. */
export function parseMinorUnits(text: string, unit: string): string | null {
  return parseUnits(text, decimalsOf(unit) ?? 0);
}

/** A minor unit amount from what a person typed in whole units of so many decimals; null when it is none. */
export function parseUnits(text: string, decimals: number): string | null {
  const match = /^(\d+)(?:[.,](\d+))?$/.exec(text.replaceAll(/\s/g, ""));
  if (!match) return null;
  const [, whole = "", fraction = ""] = match;
  if (fraction.length > decimals) return null;
  return BigInt(whole + fraction.padEnd(decimals, "0")).toString();
}

/** A decimal per minor unit as one per whole coin of so many decimals. No digit is lost. */
export function toWholeCoinRate(rate: string, decimals: number): string {
  const [whole = "", fraction = ""] = rate.split(".");
  const digits = fraction.padEnd(decimals, "0");
  const coins = `${whole}${digits.slice(0, decimals)}`.replace(/^0+(?=\d)/, "");
  const rest = digits.slice(decimals).replace(/0+$/, "");
  return rest === "" ? coins : `${coins}.${rest}`;
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The first letter small, unless it begins a word such as `API`. */
export function lowerFirst(text: string): string {
  return /^[A-Z][A-Z\d]/.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1);
}

/** A reason of the API as a sentence: `waits for …` is said of what has it, any other is a clause. */
export function toSentence(reason: string): string {
  return `${capitalize(/^waits /.test(reason) ? `it ${reason}` : reason)}.`;
}

/** A long identifier with its middle left out. */
export function shortenId(text: string): string {
  return text.length > 20 ? `${text.slice(0, 10)}…${text.slice(-6)}` : text;
}

/** A sentence of the service with the middles of its hashes left out. */
export function shortenHashes(text: string): string {
  return text.replaceAll(/\b[0-9a-f]{40,}\b/g, shortenId);
}

/** A time as epoch milliseconds: from ISO 8601, or from decimal text of milliseconds; null: none. */
export function toEpochMs(value: unknown): number | null {
  if (typeof value === "number") return value > 0 ? value : null;
  if (typeof value !== "string" || value === "") return null;
  const time = /^\d+$/.test(value) ? Number(value) : Date.parse(value);
  return Number.isNaN(time) ? null : time;
}

const DATE_FORMAT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const MAX_DATE_MS = 8.64e15;

/** A time in the reader's own zone. */
export function formatDate(time: number): string {
  return Math.abs(time) > MAX_DATE_MS ? "in the far future" : DATE_FORMAT.format(time);
}

const DURATION_UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
] as const;

/** A span of milliseconds in its largest unit, such as `3 min`. */
export function formatDuration(milliseconds: number): string {
  const span = Math.abs(milliseconds);
  const [size, name] = DURATION_UNITS.find(([size]) => span >= size) ?? [1_000, "s"];
  return `${Math.floor(span / size)} ${name}`;
}

/** How far away a time is: `in 3 min`, `3 min ago`, `now`. */
export function formatRelativeTime(time: number, now: number): string {
  if (Math.abs(time) > MAX_DATE_MS) return "in the far future";
  // Clocks of a browser and a server differ: what has just happened is not ahead.
  if (Math.abs(time - now) < 1_000) return "now";
  return time > now ? `in ${formatDuration(time - now)}` : `${formatDuration(now - time)} ago`;
}

/** `WaitingForExternalAction` as `Waiting for external action`; names of constants stay as they are. */
export function splitWords(name: string): string {
  if (!/^[A-Z][a-z0-9]+([A-Z0-9][a-z0-9]*)*$/.test(name)) return name;
  const text = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  return capitalize(text);
}

/** Members whose words alone do not say what they are. */
const MEMBER_NAMES: Readonly<Record<string, string>> = {
  caip2Id: "CAIP-2 id",
  caip2Network: "EVM network",
  blockchainIdentifier: "Escrow's identifier",
  agentIdentifier: "Agent's token",
  apiBaseUrl: "URL",
  payTo: "Paid to",
  walletVkey: "Wallet's key hash",
  drives: "Automation",
  RpcProviders: "Further providers",
  PaymentSourceConfig: "Provider key",
};

/** Words of names of members that people write in another way. */
const MEMBER_WORDS: Readonly<Record<string, string>> = {
  api: "API",
  csv: "CSV",
  evm: "EVM",
  http: "HTTP",
  rpc: "RPC",
  tx: "transaction",
  url: "URL",
  utxo: "output",
  vkey: "key hash",
};

/**
 * The name of a member as people read it: `responseStatus` as `Response status`, `lastUsedAt` as `Last used`,
 * and `isActive` as `Active`.
 */
export function formatMemberName(name: string): string {
  if (Object.hasOwn(MEMBER_NAMES, name)) return MEMBER_NAMES[name] ?? name;
  const words = name
    .replaceAll("VKey", "Vkey")
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_-]+/g, " ")
    .toLowerCase()
    .split(" ")
    .filter(Boolean);
  const isQuestion = words.length > 1 && words[0] === "is";
  const isTime = words.length > 1 && words.at(-1) === "at";
  const text = words
    .slice(isQuestion ? 1 : 0, isTime ? -1 : undefined)
    .map((word) => MEMBER_WORDS[word] ?? word)
    .join(" ");
  return capitalize(text);
}
