/** One value of the API, shown as what it is. Whatever a stranger wrote is a text node, never markup. */
import { signal } from "@preact/signals";
import { Check, Copy } from "lucide";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ExplorerLink, type ExplorerPage } from "./explorer.tsx";
import {
  formatAmount,
  formatDate,
  formatMemberName,
  formatRelativeTime,
  formatUnitOf,
  formatUnits,
  shortenId,
  toEpochMs,
} from "./format.ts";
import { Icon } from "./icon.tsx";
import { textAt } from "./path.ts";
import type { ValueKind } from "./resource.ts";
import { pageHref } from "./route.ts";
import { hasWords, toWords } from "./words.ts";

/** The time now, moved on each second while the page is visible. */
export const clock = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") clock.value = Date.now();
}, 1_000);

export function Value({
  kind = "text",
  value,
  chain,
}: {
  kind?: ValueKind | undefined;
  value: unknown;
  /** The CAIP-2 id of the EVM chain that a hash or an address is of. */
  chain?: string | undefined;
}) {
  if (value === undefined || value === null || value === "") return <span class="none">–</span>;
  switch (kind) {
    case "tag":
      return <Tag name={String(value)} />;
    case "code":
      return (
        <>
          {[value].flat().map((one) => (
            <Code key={one} text={String(one)} />
          ))}
        </>
      );
    case "hash":
      return <Code text={String(value)} explore="tx" chain={chain} />;
    case "address":
      return <Code text={String(value)} explore="address" chain={chain} />;
    case "time":
      return <Time value={value} />;
    case "funds":
      return <FundsList value={value} />;
    case "minor":
      return <span class="amount">{formatUnits(String(value), 0)} minor units</span>;
    case "native":
      return <Amount amount={String(value)} unit="" />;
    case "word":
      return <>{toWords(String(value))}</>;
    case "words":
      return <>{joinNames(value, toWords)}</>;
    case "members":
      return <>{joinNames(value, formatMemberName)}</>;
    case "flag":
      return <>{value === true ? "yes" : "no"}</>;
    case "list":
      return <>{[value].flat().map(formatItem).join(", ") || <span class="none">–</span>}</>;
    case "count":
      return <>{Array.isArray(value) ? value.length : String(value)}</>;
    case "records":
      return <RecordList records={value as object[]} />;
    case "json":
      return <pre>{JSON.stringify(value, null, 2)}</pre>;
    case "pdf":
      return <DownloadButton base64={String(value)} />;
    case "link":
      return <span class="breaks">{String(value)}</span>;
    default:
      return <>{typeof value === "object" ? JSON.stringify(value) : String(value)}</>;
  }
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** Flat objects, each as a line of what it has. */
export function RecordList({ records }: { records: readonly object[] }) {
  return (
    <ol class="records">
      {records.map((one) => {
        const members = Object.entries(one).filter(([, member]) => member !== null);
        const line = members.map(
          ([name, member]) => `${formatMemberName(name)}: ${formatItem(member)}`,
        );
        return <li key={line.join()}>{line.join(" · ")}</li>;
      })}
    </ol>
  );
}

/** One name, or several, each in words. */
const joinNames = (value: unknown, format: (name: string) => string) =>
  [value]
    .flat()
    .map((one) => format(String(one)))
    .join(", ");

function formatItem(item: unknown): string {
  const time = typeof item === "string" && ISO_TIME.test(item) ? Date.parse(item) : Number.NaN;
  if (!Number.isNaN(time)) return formatDate(time);
  if (typeof item === "object") return JSON.stringify(item);
  return hasWords(String(item)) ? toWords(String(item)) : String(item);
}

/** Names that want somebody, that are on their way, and that ended well. Others are neither. */
const TAG_TONES: readonly [tone: string, pattern: RegExp][] = [
  [
    "bad",
    /Error|Fail|Unknown|Dead|Invalid|Dispute[^d]*d$|Manual|Insufficient|Offline|Low$|Refused|Expired|Revoked|Orphan|RolledBack|STUCK|DISABLED|DEAD|^Disabled$|^nothing$/,
  ],
  ["busy", /Requested|Initiated|Pending|Stored|Sent|Retrying|Authorized|InBlock|finish/],
  [
    "good",
    /Withdrawn|Confirmed|Online|Success|Active|Verified|Settled|Healthy|Final|Published|Moved|^all$/,
  ],
];

export function Tag({ name }: { name: string }) {
  const tone = TAG_TONES.find(([, pattern]) => pattern.test(name))?.[0] ?? "calm";
  return <span class={`tag ${tone}`}>{toWords(name)}</span>;
}

export function Time({ value }: { value: unknown }) {
  const time = toEpochMs(value);
  if (time === null) return <span class="none">–</span>;
  const isPrintable = Math.abs(time) <= 8.64e15;
  return (
    <time dateTime={isPrintable ? new Date(time).toISOString() : ""} title={formatDate(time)}>
      {formatRelativeTime(time, clock.value)}
    </time>
  );
}

/** An identifier, shortened, with a button that copies all of it. */
export function Code({
  text,
  explore,
  chain,
}: {
  text: string;
  explore?: ExplorerPage | undefined;
  chain?: string | undefined;
}) {
  return (
    <span class="code">
      <code title={text}>{shortenId(text)}</code>
      {text.length > 20 && <CopyButton text={text} name={shortenId(text)} />}
      {explore && <ExplorerLink page={explore} id={text} chain={chain} />}
    </span>
  );
}

/** @param name - what is copied, for those who do not see it */
export function CopyButton({ text, name }: { text: string; name: string }) {
  const [isCopied, setCopied] = useState(false);
  const copyText = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button
      type="button"
      class="copy"
      onClick={copyText}
      aria-label={`${isCopied ? "Copied" : "Copy"} ${name}`}
      title={isCopied ? "Copied" : "Copy"}
    >
      <Icon node={isCopied ? Check : Copy} size={14} />
    </button>
  );
}

export function Amount({ amount, unit }: { amount: string; unit: string }) {
  return (
    <span class="amount" title={unit}>
      <span>{formatAmount(amount, unit)}</span> <span>{formatUnitOf(amount, unit)}</span>
    </span>
  );
}

/** Wallets of sellers hold a token of each of their agents: so many are shown, the others are counted. */
const MAX_LISTED_FUNDS = 4;

function FundsList({ value }: { value: unknown }) {
  const funds = [value].flat();
  if (funds.length === 0) return <span class="none">–</span>;
  return (
    <span class="funds">
      {funds.slice(0, MAX_LISTED_FUNDS).map((one) => (
        <Amount
          key={textAt(one, "unit")}
          amount={textAt(one, "amount") || textAt(one, "quantity")}
          unit={textAt(one, "unit")}
        />
      ))}
      {funds.length > MAX_LISTED_FUNDS && <small>and {funds.length - MAX_LISTED_FUNDS} more</small>}
    </span>
  );
}

/** Names and values, one below the other; those without a value are left out. */
export function Facts({
  facts,
  isLines = false,
}: {
  facts: readonly (readonly [name: string, value: ComponentChildren])[];
  /** Each fact has its line. */
  isLines?: boolean;
}) {
  return (
    <dl class={isLines ? "facts lines" : "facts"}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A link to another page, on the network that is shown. */
export function PageLink({
  to,
  id,
  query,
  children,
}: {
  to: string;
  id?: string;
  query?: Record<string, string | undefined>;
  children: ComponentChildren;
}) {
  return <a href={pageHref(to, id, query)}>{children}</a>;
}

/** A PDF that came as base64, as a file of this tab. */
function DownloadButton({ base64 }: { base64: string }) {
  const save = () => {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    saveFile("invoice.pdf", new Blob([bytes], { type: "application/pdf" }));
  };
  return (
    <button type="button" onClick={save}>
      Save invoice.pdf
    </button>
  );
}

/** Saves a file that the console made or was sent. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
