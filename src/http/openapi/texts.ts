/** Formats of our own in the document, where a schema cannot say what is right. */
export const FORMAT_DESCRIPTIONS: Readonly<Record<string, string>> = {
  "at-most-six-decimals": "A number with at most six decimals.",
  "bech32-address": "A bech32 address on the request's network, of the kind that the field names.",
  "bip39-mnemonic": "Words of the English BIP-39 list, with a valid checksum.",
  "printed-text":
    "A line of Latin, Greek or Cyrillic letters, without control or invisible characters.",
  "public-https-base-url":
    "An https URL without query and fragment, whose host has only public addresses.",
  "public-https-url": "An https URL whose host has only public addresses.",
  "rpc-url-on-the-chain": "URL of an RPC node on the request's chain.",
  "secp256k1-key": "A number from 1 to less than the order of the curve.",
  "text-of-16-kib": "Text of at most 16 KiB in UTF-8.",
  "text-of-60-bytes": "Text of at most 60 bytes in UTF-8.",
  "text-of-64-bytes": "Text of at most 64 bytes in UTF-8.",
  "time-zone": "Name of a time zone in the IANA database.",
  "transaction-of-the-contract": "Hash of a transaction of the contract, in hex.",
  "wallet-signature": "A signature of the request by the key in `key`.",
};

/** What the document says before its paths. */
export const API_DESCRIPTION = `Escrow payments for agent services on the chain, a registry of agents, x402 payments on EVM
chains, invoices and webhooks.

**Requests.** The service reads bodies as JSON, whatever their content type. Under \`/api/v1\` it ignores unknown
fields and parameters, and names them in \`x-ignored-fields\`. It refuses them under \`/v1\`, and in strict bodies
such as those of API keys and wallet rules. Paths work with and without a trailing slash. Times are ISO 8601; ids
are opaque. Amounts are whole minor units, a unit's smallest parts, as decimal text. The empty unit is the
chain's native coin.

**Keys.** Unless an endpoint says otherwise, it requires an API key in the header \`token\` or as
\`Authorization: Bearer …\`. Endpoints under \`/v1\` require an Admin key as \`Authorization: Bearer …\`.

**Responses.** \`{"status":"success","data":…}\`, with \`Success\` where an operation says so; under \`/v1\`
\`{data, meta}\`. Responses may gain fields at any time. Every response has an \`x-request-id\`.

**Errors.** \`{"status":"error","error":{…}}\` with a message for people, a \`code\` for programs and the
\`field\` at fault, if any. [The list of codes](/docs/errors) explains each. Under
\`/v1\` an error is \`{error, message, kind, meta}\`.

**Repeating.** A POST that creates or spends accepts \`Idempotency-Key\`: a repeat within 24 hours gets
the first response. With 429, 503 and 504, \`Retry-After\` says when to try again.

**Lists and diffs.** A list is newest first. A page continues after the item whose id is \`cursorId\`. A diff is
oldest change first, so that clients miss no change; each diff describes its paging. Both have an \`ETag\`, and
return 304 to \`If-None-Match\` while nothing has changed. POST queries do so too, although HTTP defines this for
GET alone.

**Limits.** \`RateLimit-Policy\` shows the rate limits of a key.

**Formats.** These formats state what a pattern cannot:

${Object.entries(FORMAT_DESCRIPTIONS)
  .map(([name, text]) => `* \`${name}\`: ${text}`)
  .join("\n")}`;

/** What each feature is, in the order in which the reference lists them. */
export const TAG_DESCRIPTIONS = {
  Payments: "The seller's side of escrows: funds that buyers lock for this service's agents.",
  Purchases: "The buyer's side of escrows: funds that this service's wallets lock for agents.",
  Registry: "Agents found on the chain, with their availability and prices.",
  Agents: "Registration of agents on the chain by this service's wallets.",
  "Inbox agents": "Registration of inbox agents on the chain by this service's wallets.",
  "Inbox registrations": "Inbox agents found on the chain, with the data of their providers.",
  "Registry sources": "Minting policies whose agents the service syncs.",
  "Payment sources": "Escrow contracts that the service syncs, with their wallets.",
  Wallets: "Wallets of payment sources, their transfers, and rules for their balances.",
  Ledger: "Data of the chain, for clients without a chain provider.",
  x402: "Sales and purchases of resources over HTTP 402, on EVM chains.",
  Disputes: "Disputed escrows, which the contract's administrators settle by signatures.",
  Tasks: "Steps that wallets take for escrows, and what the steps wait for.",
  "x402 facilitator":
    "The facilitator interface of the x402 specification, without this service's envelope.",
  Invoices: "Monthly invoices for payments, and conversion rates.",
  Webhooks: "Endpoints that receive events, and the log of deliveries.",
  "API keys": "API keys with their permissions and limits, and the audit log.",
  "Worker bots": "Administration: bots, their versions, and migrations of bots to a version.",
  Health: "State of the service, for monitors.",
  Metrics: "Figures about the service, for operators.",
} as const;

/** The features that an endpoint can belong to. */
export type Tag = keyof typeof TAG_DESCRIPTIONS;
