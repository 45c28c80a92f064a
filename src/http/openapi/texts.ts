/** Formats of our own in the document, where a schema cannot say what is right. */
export const FORMATS: Readonly<Record<string, string>> = {
  "at-most-six-decimals": "A number with at most six digits after its point.",
  "bech32-address":
    "An address of the request's network in bech32, of the kind that the field names.",
  "bip39-mnemonic": "Words of the English list of BIP-39 with a right checksum.",
  "printed-text":
    "A line of Latin, Greek or Cyrillic letters, without control or invisible characters.",
  "public-https-url": "A URL of the scheme https whose host has public addresses only.",
  "rpc-url-on-the-chain": "URL of an RPC node that is on the chain of the request.",
  "secp256k1-key": "A number from 1 to below the order of the curve.",
  "text-of-16-kib": "Text that has at most 16 KiB in UTF-8.",
  "text-of-60-bytes": "Text that has at most 60 bytes in UTF-8.",
  "text-of-64-bytes": "Text that has at most 64 bytes in UTF-8.",
  "time-zone": "The name of a time zone in the IANA database.",
  "transaction-of-the-contract": "Hash of a transaction of the contract, in hex.",
  "wallet-signature": "A signature of the request by the key beside it.",
};

/** What the document says before its paths. */
export const OVERVIEW = `Payments and purchases of agent services, tracked on the chain; the registry of agents; x402
payments on EVM chains; invoices and webhooks.

**Requests.** Bodies are JSON, whatever their content type says. Unknown fields and
parameters are ignored under \`/api/v1\`, and the answer names them in \`x-ignored-fields\`; they are refused
under \`/v1\` and by bodies that say so, such as those of API keys and of wallets' rules. Paths answer with and without a trailing slash. Times are ISO 8601;
ids are opaque. Amounts are whole numbers of a unit's smallest part, as decimal text; the empty unit is the
native coin of the chain.

**Keys.** Every endpoint takes an API key in the header \`token\` or as \`Authorization: Bearer …\`, except where
it says otherwise. The administration under \`/v1\` takes an Admin's key as \`Authorization: Bearer …\` alone.

**Answers.** \`{"status":"success","data":…}\`, with \`Success\` where an operation says so; under \`/v1\`
\`{data, meta}\`. Answers may get further fields at any time. Every answer carries \`x-request-id\`.

**Errors.** \`{"status":"error","error":{…}}\` with a message for people, a \`code\` for programs, and the
\`field\` to blame, if there is one. [The list of codes](/docs/errors) says what to do about each. Under
\`/v1\` an error is \`{error, message, kind, meta}\`.

**Repeating.** A POST that creates or spends takes \`Idempotency-Key\`: sent again within 24 hours it gets
the first answer. 429, 503 and 504 say in \`Retry-After\` when to try again.

**Lists and diffs.** A list is newest first; its \`cursorId\` is the id of the last item seen, which is not
repeated. A diff is oldest change first, for followers that must not miss one; how it pages is said with
each. Both carry an \`ETag\` and answer 304 to \`If-None-Match\` while nothing has changed. POST queries do so
too, although HTTP speaks of GET alone.

**Limits.** \`RateLimit-Policy\` tells the calls that a key has.

**Formats.** What a pattern cannot say has a \`format\` of our own:

${Object.entries(FORMATS)
  .map(([name, text]) => `* \`${name}\`: ${text}`)
  .join("\n")}`;

/** What each feature is, in the order in which the reference lists them. */
export const TAGS = {
  Payments: "The selling side of escrows: what others locked for agents of this service's wallets.",
  Purchases: "The buying side of escrows: what this service's wallets locked for others' agents.",
  Registry: "Agents found on the chain, whether they answer, and what they charge.",
  Agents: "Registering agents on the chain with the wallets of this service.",
  "Inbox agents": "Registering inbox agents on the chain with the wallets of this service.",
  "Inbox registrations": "Inbox agents found on the chain, and what their providers say of them.",
  "Registry sources": "The minting policies whose agents are followed.",
  "Payment sources": "The escrow contracts that are followed, with their wallets.",
  Wallets:
    "The wallets of payment sources, what they pay, and rules that watch and fill up their balances.",
  Ledger: "What lies on the chain, for clients without a provider of their own.",
  x402: "Selling and buying resources over HTTP 402, on EVM chains.",
  Disputes: "Escrows that the contract's administrators have to settle, and their signatures.",
  Tasks: "What wallets do for escrows, or wait with.",
  "x402 facilitator":
    "The interface that the x402 specification gives a facilitator, without this service's envelope.",
  Invoices: "Monthly invoices over payments, and the rates they are converted at.",
  Webhooks: "Endpoints that events are delivered to, and the log of deliveries.",
  "API keys": "Who may call, how often and on which networks; and what was changed by whom.",
  "Worker bots": "Administration: bots, their versions, and moving bots to a version.",
  Health: "Whether the service works, for monitors.",
  Metrics: "How much of everything there is, for operators.",
} as const;

/** The features that an endpoint can belong to. */
export type Tag = keyof typeof TAGS;
