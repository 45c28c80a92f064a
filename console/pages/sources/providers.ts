/** The chain providers that a payment source uses beside its first one. */
import { textAt, valueAt } from "../../ui/path.ts";
import type { Action, Column } from "../../ui/resource.ts";
import { toWords } from "../../ui/words.ts";
import { checkUrl } from "../fields/checks.ts";
import { PROVIDER_KINDS, PROVIDER_PURPOSES } from "../fields/choices.ts";

const listAt = (row: unknown, path: string) => (valueAt(row, path) as unknown[] | undefined) ?? [];

/** Which one it is: its server, else its kind. */
function nameProvider(provider: unknown): string {
  const url = textAt(provider, "url");
  return URL.canParse(url) ? new URL(url).host : textAt(provider, "rpcProvider");
}

/** How many there are, the first one included. */
export const countProviders = (row: unknown) => String(listAt(row, "RpcProviders").length + 1);

function describeProviders(row: unknown): string {
  const names = listAt(row, "RpcProviders").map(
    (one) =>
      `${nameProvider(one)} (${listAt(one, "use")
        .map((use) => toWords(String(use)).toLowerCase())
        .join(", ")})`,
  );
  return names.join(", then ");
}

/** Position 0 is the source's first provider. */
function describeOutages(row: unknown): string {
  const further = listAt(row, "RpcProviders");
  const lines = listAt(row, "RpcProviderOutages").map((outage) => {
    const place = Number(textAt(outage, "provider"));
    const name = place === 0 ? "First provider" : nameProvider(further[place - 1]);
    return `${name}, ${toWords(textAt(outage, "use")).toLowerCase()}: ${textAt(outage, "reason")}`;
  });
  return lines.join("; ");
}

/** The provider that a use takes now: the first that has the use and no outage. The first provider has all uses. */
export function findProviderInUse(row: unknown, use: string): string | null {
  const first = `First provider (${toWords(textAt(row, "PaymentSourceConfig.rpcProvider"))})`;
  const outages = listAt(row, "RpcProviderOutages");
  const isOut = (place: number) =>
    outages.some((one) => Number(textAt(one, "provider")) === place && textAt(one, "use") === use);
  const further = listAt(row, "RpcProviders");
  if (!isOut(0)) return first;
  const i = further.findIndex((one, i) => listAt(one, "use").includes(use) && !isOut(i + 1));
  return i < 0 ? null : nameProvider(further[i]);
}

const inUseColumns = PROVIDER_PURPOSES.map(
  (use): Column => ({
    heading: `${toWords(use)} now`,
    path: "PaymentSourceConfig.rpcProvider",
    describe: (row) => findProviderInUse(row, use) ?? "none: all are out of use",
  }),
);

/** Of a source of either kind. */
export const outageColumns: readonly Column[] = [
  { heading: "Further providers", path: "RpcProviders", describe: describeProviders },
  { heading: "Out of use", path: "RpcProviderOutages", describe: describeOutages },
];

export const providerColumns: readonly Column[] = [...inUseColumns, ...outageColumns];

export const changeProvidersAction: Action = {
  name: "providers",
  label: "Change providers",
  description:
    "The source uses these chain providers, in this order, after its first one, and when that one fails. Each is checked before it is stored.",
  method: "PATCH",
  path: "/payment-source-extended",
  fields: [
    {
      name: "RpcProviders",
      label: "Further providers",
      as: "rows",
      rowName: "provider",
      isOrdered: true,
      rowFields: [
        {
          name: "rpcProvider",
          label: "Server",
          as: "choice",
          choices: PROVIDER_KINDS,
          initial: "Blockfrost",
          isRequired: true,
        },
        { name: "url", label: "URL", check: checkUrl },
        { name: "rpcProviderApiKey", label: "Provider key", as: "secret" },
        { name: "use", label: "Used for", as: "choices", choices: PROVIDER_PURPOSES },
      ],
      from: "RpcProviders",
      hint: "At most five. Without a URL: the server of this deployment. Without a key: the stored one, or none. Used for nothing selected: all that it can do.",
    },
  ],
  fromRow: { id: "id" },
};
