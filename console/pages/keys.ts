import { NETWORKS } from "../../src/chain/network.ts";
import { formatDate, formatFunds, toEpochMs } from "../ui/format.ts";
import { textAt, valueAt } from "../ui/path.ts";
import type { Field, PageDefinition } from "../ui/resource.ts";
import { DETAIL_IDS, describeActor, describeTarget, formatAuditAction } from "./audit-targets.ts";
import type { Funds } from "./escrow/sides.ts";
import { AUDIT_ACTIONS } from "./fields/choices.ts";
import { createAmountField, tokenField } from "./fields/funds.ts";
import { ALL_EVM_NETWORKS, API_KEYS, WALLETS } from "./fields/known-ids.ts";

const isLimited = (values: Readonly<Record<string, string>>) => values.permission !== "Admin";
const canSpend = (values: Readonly<Record<string, string>>) =>
  isLimited(values) && values.canPay === "true";

const keyFields: readonly Field[] = [
  { name: "name", label: "Name", from: "name", hint: "Whose key it is, or what it is for." },
  {
    name: "permission",
    label: "Permission",
    as: "choice",
    choices: ["User", "Admin"],
    from: "permission",
    initial: "User",
    isRequired: true,
    hint: "A user reads, and pays if you allow it. An admin may do everything.",
  },
  {
    name: "canPay",
    label: "May pay and change (+PAY)",
    as: "flag",
    from: "canPay",
    initial: "false",
    isShown: isLimited,
    hint: "A key that may pay can have spending limits.",
  },
  {
    name: "spendingLimits",
    label: "Spending limits",
    as: "rows",
    rowName: "limit",
    rowFields: [
      {
        name: "network",
        label: "On",
        as: "choice",
        choices: NETWORKS,
        initial: "Preprod",
        isRequired: true,
      },
      createAmountField("amount"),
      tokenField,
    ],
    from: "spendingLimits",
    isNullWhenEmpty: true,
    isShown: canSpend,
    hint: "Each is a total for all purchases of the key, from all agents together. For an amount a day, select one wallet below, and top that wallet up with at most so much a day. Without a limit, the key may spend anything.",
  },
  {
    name: "walletLimit",
    label: "Wallets",
    as: "choices",
    knownIds: WALLETS,
    from: "walletLimit",
    isNullWhenEmpty: true,
    isShown: isLimited,
    hint: "None selected: the key may use all wallets.",
  },
  {
    name: "networkLimit",
    label: "Networks",
    as: "choices",
    choices: NETWORKS,
    knownIds: ALL_EVM_NETWORKS,
    from: "networkLimit",
    initialBy: (_, { network = "Preprod" }) => network,
    isShown: isLimited,
  },
  {
    name: "usageLimited",
    label: "Limit the number of calls",
    as: "flag",
    from: "usageLimited",
    initial: "false",
  },
  {
    name: "maxUsageCredits",
    label: "Credits",
    as: "number",
    from: "maxUsageCredits",
    initial: "0",
    isShown: ({ usageLimited }) => usageLimited === "true",
    hint: "A quote and a purchase cost credits.",
  },
  {
    name: "returnAddresses",
    label: "Return addresses",
    as: "lines",
    from: "returnAddresses",
    isShown: isLimited,
    hint: "Other addresses that the key may send money to, one on each line.",
  },
];

const isStoredKey = (row: unknown) => textAt(row, "id") !== "env-admin";
const isRevoked = (row: unknown) => textAt(row, "status") === "Revoked";

const describeName = (row: unknown) =>
  textAt(row, "name") || (isStoredKey(row) ? textAt(row, "token") : "Key of the deployment");

function describeEntryTime(row: unknown): string {
  const time = toEpochMs(textAt(row, "at"));
  return time === null ? "" : formatDate(time);
}

/** Each limit with its network. */
function describeSpendingLimits(row: unknown): string {
  const limits = (valueAt(row, "spendingLimits") as (Funds & { network: string })[] | null) ?? [];
  return limits
    .map(({ network, unit, amount }) => `${formatFunds(amount, unit)} on ${network}`)
    .join(" · ");
}

/** All limits of a key in one text. With an empty list the key spends nothing, and without a list anything. */
function describeLimits(row: unknown): string {
  const limits = valueAt(row, "spendingLimits") as Funds[] | null | undefined;
  const wallets = (valueAt(row, "walletLimit") as string[] | null | undefined) ?? [];
  const isCounted = valueAt(row, "usageLimited") === true;
  const parts = [
    ...(limits?.length === 0 ? ["spends nothing"] : []),
    ...(limits ?? []).map(({ unit, amount }) => formatFunds(amount, unit)),
    ...(wallets.length > 0 ? [`${wallets.length} wallet${wallets.length === 1 ? "" : "s"}`] : []),
    ...(isCounted
      ? [`${textAt(row, "accumulatedUsageCredits")} of ${textAt(row, "maxUsageCredits")} credits`]
      : []),
  ];
  return parts.join(" · ") || "none";
}

function describeAccess(row: unknown): string {
  if (textAt(row, "permission") === "Admin") return "Admin";
  return valueAt(row, "canPay") === true ? "User, may pay" : "User, reads";
}

export const keysPage: PageDefinition = {
  name: "keys",
  title: "Keys and audit",
  access: "Admin",
  tabs: [
    {
      name: "keys",
      title: "API keys",
      description:
        "Who may call the API, and how much. A key itself is shown once, when it is created.",
      path: "/api-key",
      rowsMember: "ApiKeys",
      ownRowsMember: "apiKeys",
      emptyText: "There is no API key but the one of the deployment.",
      columns: [
        { heading: "Name", path: "name", describe: describeName, second: "token" },
        { heading: "Status", path: "status", as: "tag" },
        { heading: "Access", path: "permission", describe: describeAccess },
        { heading: "Limits", path: "spendingLimits", describe: describeLimits },
        { heading: "Spent", path: "Spending", as: "funds", fallback: "nothing" },
        { heading: "Networks", path: "networkLimit", knownIds: ALL_EVM_NETWORKS },
        {
          heading: "Last used",
          path: "lastUsedAt",
          as: "time",
          otherwise: (row) => (isStoredKey(row) ? "never" : "not recorded"),
        },
      ],
      details: [
        { heading: "May spend", path: "spendingLimits", describe: describeSpendingLimits },
        { heading: "Wallets", path: "walletLimit", knownIds: WALLETS },
      ],
      creates: [
        {
          name: "create",
          label: "Create key",
          description: "Makes a key, which is shown once.",
          method: "POST",
          path: "/api-key",
          fields: keyFields.map(({ from: _, ...field }) => field),
          shows: [
            { heading: "API key", path: "token", as: "secret" },
            { heading: "Id", path: "id" },
          ],
        },
      ],
      actions: [
        {
          name: "change",
          label: "Change",
          description: "Changes what the key may do. It holds everywhere within ten seconds.",
          method: "PATCH",
          path: "/api-key",
          fields: keyFields,
          fromRow: { id: "id" },
          isApplicable: isStoredKey,
        },
        {
          name: "revoke",
          label: "Revoke",
          description:
            "Ends the key's calls, and its webhooks' events, until you reactivate the key.",
          method: "PATCH",
          path: "/api-key",
          fixed: { status: "Revoked" },
          fromRow: { id: "id" },
          isApplicable: (row) => isStoredKey(row) && !isRevoked(row),
        },
        {
          name: "reactivate",
          label: "Reactivate",
          description: "The key may call again, within ten seconds.",
          method: "PATCH",
          path: "/api-key",
          fixed: { status: "Active" },
          fromRow: { id: "id" },
          isApplicable: isRevoked,
        },
        {
          name: "delete",
          label: "Delete",
          description:
            "Ends the key for good. Its name is then in no list, and the audit shows an id alone. A revoked key keeps both.",
          method: "DELETE",
          path: "/api-key",
          fromRow: { id: "id" },
          isFinal: true,
          isApplicable: isStoredKey,
        },
      ],
      related: [{ label: "What it did", page: "keys", tab: "audit", query: { apiKeyId: "id" } }],
    },
    {
      name: "audit",
      title: "Audit",
      description:
        "Who changed what through the API, newest first. Open a key to see its holder or to revoke it.",
      path: "/audit",
      rowsMember: "AuditEntries",
      section: { title: "What was changed", path: "detail", knownIds: DETAIL_IDS },
      emptyText: "Nothing was changed yet, or nothing that the filters leave.",
      filters: [
        { name: "apiKeyId", label: "Key", knownIds: API_KEYS },
        {
          name: "action",
          label: "Action",
          as: "choice",
          choices: AUDIT_ACTIONS,
          nameChoice: formatAuditAction,
        },
        { name: "after", label: "After", as: "time" },
        { name: "before", label: "Before", as: "time" },
      ],
      columns: [
        {
          heading: "Action",
          path: "action",
          describe: (row) => formatAuditAction(textAt(row, "action")),
        },
        { heading: "When", path: "at", as: "time" },
        { heading: "Key", path: "apiKeyId", refersTo: describeActor },
        { heading: "Target", path: "target", refersTo: describeTarget },
      ],
      details: [
        {
          heading: "Time",
          path: "at",
          describe: describeEntryTime,
        },
        { heading: "Target's id", path: "target", as: "code" },
        { heading: "Key's id", path: "apiKeyId", as: "code" },
        { heading: "Request", path: "requestId", as: "code" },
      ],
    },
  ],
};
