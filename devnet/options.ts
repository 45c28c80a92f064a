import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/** Servers of an operator's own node, which need Ogmios beside them. */
const NODE_PROFILES = ["ryo", "dolos", "platform"] as const;

const DEFAULT_FOLDER = fileURLToPath(new URL("../.local-state", import.meta.url));

/** What `npm start` was asked for. */
export interface StartOptions {
  /** Print the usage, and nothing else. */
  help?: boolean;
  /** The local chain, and a service without records. */
  "no-demo"?: boolean;
  /** The demo's sources, wallets and x402 resource, on which nothing is played. */
  idle?: boolean;
  /** The demo with something for an operator to end. */
  troubles?: boolean;
  /** The documentation site at `/docs`, which is built first. */
  docs?: boolean;
  /** Folder that chain and records are kept in; they are forgotten when omitted. */
  keep?: string;
  /** Origins on this machine, comma separated. */
  origins?: string;
  /** The profile of the chain provider, with Ogmios beside it. */
  provider?: string;
  /** How old final escrows must be to go to the archive: see `readMinutes`. None goes when omitted. */
  "archive-after"?: string;
}

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  "no-demo": { type: "boolean" },
  idle: { type: "boolean" },
  troubles: { type: "boolean" },
  docs: { type: "boolean" },
  keep: { type: "string" },
  origins: { type: "string" },
  provider: { type: "string" },
  "archive-after": { type: "string" },
} as const;

export const USAGE = `npm start -- [options]   runs the service on a local chain, with a demo playing on it

  --no-demo            has the local chain and nothing else, as a new deployment does
  --idle               has the demo's payment sources, wallets and x402 resource, and plays nothing
  --troubles           adds an endpoint that lost events, a low wallet and a second chain provider
  --docs               builds the documentation site at /docs first, which takes a minute
  --keep, --keep=DIR   keeps chain and records in .local-state/ or DIR, and resumes from there
  --origins=URL,…      origins on this machine that webhooks, agents and nodes of yours may be at
  --provider=NAME      reads from a server like ryo, dolos or platform, with Ogmios beside it
  --archive-after=1m   moves final escrows of that age to the archive: also 2h (hours), 3d (days)
  --help               prints this

  PORT=8788 npm start  listens at another port than 8787

docs/development.md says more.`;

const HINT = "npm start -- --help lists the options";

/**
 * Reads the options of `npm start`.
 *
 * @throws with one clear line for what is none of them
 */
export function readOptions(given: readonly string[]): StartOptions {
  // An option of parseArgs takes a value always or never.
  const args = given.map((arg) => (arg === "--keep" ? `--keep=${DEFAULT_FOLDER}` : arg));
  const { values, tokens } = parseArgs({ args, options: OPTIONS, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === "positional") throw new Error(`${token.value} is no option; ${HINT}`);
    if (token.kind !== "option") continue;
    const { rawName, name, value } = token;
    if (!Object.hasOwn(OPTIONS, name)) throw new Error(`there is no option ${rawName}; ${HINT}`);
    const takesValue = OPTIONS[name as keyof typeof OPTIONS].type === "string";
    if (takesValue && !value) throw new Error(`${rawName} needs a value; ${HINT}`);
    if (name === "provider" && !NODE_PROFILES.some((one) => one === value))
      throw new Error(`${rawName} is one of ${NODE_PROFILES.join(", ")}; ${HINT}`);
    if (!takesValue && value !== undefined) throw new Error(`${rawName} takes no value; ${HINT}`);
  }
  return values as StartOptions;
}

const MINUTES: Readonly<Record<string, number>> = { m: 1, h: 60, d: 24 * 60 };

/**
 * Reads a duration such as `1m`, `2h` or `3d`, in minutes.
 *
 * @throws with one clear line for another text
 */
export function readMinutes(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const minutes = MINUTES[unit];
  if (minutes === undefined)
    throw new Error(`${text} is no duration such as 1m, 2h or 3d; ${HINT}`);
  return Number(count) * minutes;
}
