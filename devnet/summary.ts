/** What `npm start` prints once the service is ready. */
import { EvmUnavailable } from "./evm/node.ts";
import { DEFAULT_URL } from "./origins.ts";

export interface StartedService {
  /** Origin of the service without a trailing slash. */
  url: string;
  adminKey: string;
  /** What the start has set up: all of the demo, what the demo is played on, or nothing. */
  extent: "demo" | "idle" | "nothing";
  /** Whether agents can be found. */
  hasRegistry: boolean;
  /** Whether the next start continues from these records. */
  isKept: boolean;
  /** Base URL of the local chain's controls. */
  controls: string;
  /** Where webhooks arrive. */
  receiver: string;
  /** URL of what is sold over x402, or why nothing is sold. */
  sold: string | EvmUnavailable;
  /** Path of the script that writes `invoice.pdf`. */
  invoiceScript?: string;
  /** Base URL of a chain provider that a payment source lacks, where the demo has troubles. */
  secondProvider?: string;
  /** Path of the file that the Worker and its runtime print to. */
  log: string;
}

const DIFF = "/purchase/diff/onchain-state-or-result?network=Preprod&limit=1";
const LABEL_LENGTH = 9;

/** The lines: addresses and the admin key, and three things to try. At most 15, so that they fit a screen. */
export function summaryOf(started: StartedService): string[] {
  const { url, adminKey, isKept, extent, receiver, sold, invoiceScript, log } = started;
  const rows: [label: string, value: string][] = [
    ["Console", `${url}/console`],
    ["Admin key", adminKey],
    ["API", `${url}/api/v1`],
    ["Docs", `${url}/docs`],
    ["MCP", `${url}/mcp`],
  ];
  if (extent !== "nothing") {
    rows.push(["Webhooks", receiver]);
    rows.push(["x402", sold instanceof EvmUnavailable ? `left out: ${sold.message}` : sold]);
  }
  if (invoiceScript !== undefined) rows.push(["Invoice", `sh '${invoiceScript}'`]);
  rows.push(["Log", log]);
  return [
    `Ready. Ctrl-C stops everything${isKept ? "; --keep continues later." : ", and deletes the records."}`,
    ...rows.map(([label, value]) => `  ${label.padEnd(LABEL_LENGTH)}  ${value}`),
    "",
    "Try:",
    ...thingsToTry(started).map((line) => `  ${line}`),
  ];
}

function thingsToTry(started: StartedService): string[] {
  const { url, adminKey, extent, hasRegistry, controls, sold, secondProvider } = started;
  const changes = `curl -s -H 'token: ${adminKey}' '${url}/api/v1${DIFF}'`;
  const signIn = `sign in to ${url}/console with the admin key`;
  const toBuy = sold instanceof EvmUnavailable ? [] : [`curl -i '${sold}'`];
  switch (extent) {
    case "demo":
      return [
        secondProvider === undefined
          ? changes
          : `add the chain provider ${secondProvider} to a source`,
        ...(hasRegistry
          ? [`${url === DEFAULT_URL ? "" : `SERVICE_URL=${url} `}npm run example -- buy-a-job`]
          : toBuy),
        signIn,
      ];
    case "idle":
      return [changes, ...toBuy, signIn];
    case "nothing":
      return [
        `${signIn}, and follow its first steps`,
        `curl -s '${controls}/fund' -d '{"address": "addr_test1…"}'   # sends coins to a new wallet`,
        changes,
      ];
  }
}
