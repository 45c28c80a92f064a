import { COIN_DECIMALS, formatWholeUnits } from "../../chain/unit.ts";
import { toIsoTime } from "../../http/envelope.ts";
import type { WebhookFormat } from "../model/tables.ts";

/** An event as it is sent. */
export interface OutgoingEvent {
  /** Equal on every attempt and on a replay. */
  id: string;
  kind: string;
  /** 1, 2, 3 … per record. */
  sequence: number;
  /** When it happened, epoch milliseconds. */
  createdAt: number;
  /** JSON text of the record as GET showed it at that moment. */
  data: string;
}

/** The JSON text that a receiver of a format gets. */
export function formatBody(format: WebhookFormat, event: OutgoingEvent): string {
  switch (format) {
    case "EXTENDED":
      return formatExtendedBody(event);
    case "CHAT":
      return JSON.stringify({ text: formatChatText(event, escapeEntities) });
    case "GOOGLE_CHAT":
      return JSON.stringify({ text: formatChatText(event, escapeAngleBrackets) });
    case "DISCORD":
      return JSON.stringify({
        content: formatChatText(event, escapeMarkdown),
        allowed_mentions: { parse: [] },
      });
  }
}

/** The body of the extended format. It contains the record's text unchanged, without parsing it. */
function formatExtendedBody({ id, kind, sequence, createdAt, data }: OutgoingEvent): string {
  const head = JSON.stringify({
    id,
    type: kind,
    event_type: kind,
    timestamp: toIsoTime(createdAt),
    webhook_id: id,
    sequence,
  });
  return `${head.slice(0, -1)},"data":${data}}`;
}

/** UTF-16 code units: Discord's limit. */
const MAX_TEXT_LENGTH = 2_000;
/** Code points: the note of a wallet without funds, with its address, has room. */
const MAX_VALUE_LENGTH = 600;

type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };

/** The fields of a payment or purchase shown in a chat; of other records, every plain field. */
const RECORD_FIELDS: readonly (readonly [label: string, path: readonly string[]])[] = [
  ["State", ["onChainState"]],
  ["Next action", ["NextAction", "requestedAction"]],
  ["Error", ["NextAction", "errorType"]],
  ["Reason", ["NextAction", "errorNote"]],
  ["Requested", ["RequestedFunds"]],
  ["Paid", ["PaidFunds"]],
  ["Network", ["PaymentSource", "network"]],
  ["Transaction", ["CurrentTransaction", "txHash"]],
  ["Agent", ["agentIdentifier"]],
  ["Id", ["id"]],
];

/** Lines of `label: value` up to the limit. Escaped text cannot mention or link anybody. */
function formatChatText(event: OutgoingEvent, quote: (text: string) => string): string {
  const data = JSON.parse(event.data) as { [name: string]: JsonValue };
  const lines = /^(PAYMENT|PURCHASE)_/.test(event.kind)
    ? RECORD_FIELDS.map(([label, path]) => [label, readJsonPath(data, path)] as const)
    : Object.entries(data);
  let text = quote(event.kind);
  for (const [label, value] of lines) {
    const content = toChatValue(value);
    if (content === "") continue;
    const line = `\n${quote(truncate(toChatValue(label)))}: ${quote(truncate(content))}`;
    if (text.length + line.length > MAX_TEXT_LENGTH) break;
    text += line;
  }
  return text;
}

function readJsonPath(data: JsonValue, path: readonly string[]): JsonValue {
  let value: JsonValue = data;
  for (const name of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    value = value[name] ?? null;
  }
  return value;
}

/** A plain value, or a list of amounts, on one line; `""` for everything else. */
function toChatValue(value: JsonValue): string {
  if (Array.isArray(value)) return value.map(toChatFunds).filter(Boolean).join(", ");
  if (value === null || typeof value === "object") return "";
  return String(value)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
}

function toChatFunds(value: JsonValue): string {
  const amount = readJsonPath(value, ["amount"]);
  const unit = readJsonPath(value, ["unit"]) ?? readJsonPath(value, ["assetUnit"]);
  if (amount === null) return "";
  return toChatValue(
    unit === "" ? `${formatWholeUnits(`${amount}`, COIN_DECIMALS)} ADA` : `${amount} ${unit}`,
  );
}

/** Whole code points, so that no half of a surrogate pair is sent. */
function truncate(text: string): string {
  const points = Array.from(text);
  return points.length <= MAX_VALUE_LENGTH
    ? text
    : `${points.slice(0, MAX_VALUE_LENGTH - 1).join("")}…`;
}

/** The three characters special to Slack and similar chats: `<!channel>`, `<@U…>`, links. */
function escapeEntities(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

/** Google Chat knows no entities; a zero-width space keeps `<users/all>` from being read as one. */
function escapeAngleBrackets(text: string): string {
  return text.replace(/</g, "<\u200b");
}

/** Discord: no Markdown, and no `@everyone` even in the raw text. */
function escapeMarkdown(text: string): string {
  return text.replace(/[\\*_~`|>[\]()#<]/g, "\\$&").replace(/@/g, "@\u200b");
}
