import { textAt } from "../ui/path.ts";
import type { Field, PageDefinition } from "../ui/resource.ts";
import { API_KEYS } from "./fields/known-ids.ts";

const keyFields: readonly Field[] = [
  { name: "name", label: "Name", from: "name", hint: "For people: whose it is, what it is for." },
  {
    name: "permission",
    label: "Permission",
    as: "choice",
    choices: ["User", "Admin"],
    from: "permission",
    initial: "User",
    isRequired: true,
  },
  {
    name: "canPay",
    label: "+PAY access: it may spend",
    as: "flag",
    from: "canPay",
    initial: "false",
  },
  {
    name: "usageLimited",
    label: "Credits are limited",
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
  },
  {
    name: "networkLimit",
    label: "Networks",
    as: "lines",
    from: "networkLimit",
    hint: "One a line: Preprod, Mainnet, or a CAIP-2 id.",
  },
  {
    name: "walletLimit",
    label: "Wallets (ids)",
    as: "json",
    from: "walletLimit",
    hint: "A list of ids; null: all.",
  },
  {
    name: "spendingLimits",
    label: "Spending limits",
    as: "json",
    from: "spendingLimits",
    hint: 'A list of {"network", "unit", "amount"}; null: none.',
  },
  {
    name: "returnAddresses",
    label: "Return addresses",
    as: "lines",
    from: "returnAddresses",
    hint: "Other addresses that this key may have money sent to.",
  },
];

const isStoredKey = (row: unknown) => textAt(row, "id") !== "env-admin";

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
        { heading: "Key", path: "token" },
        { heading: "Name", path: "name" },
        { heading: "Last used", path: "lastUsedAt", as: "time" },
        { heading: "Status", path: "status", as: "tag" },
        { heading: "Permission", path: "permission" },
        { heading: "+PAY", path: "canPay", as: "flag" },
        { heading: "Spent", path: "Spending", as: "funds" },
        { heading: "Spending limits", path: "spendingLimits", as: "funds" },
        { heading: "Calls limited", path: "usageLimited", as: "flag" },
        { heading: "Used", path: "accumulatedUsageCredits" },
        { heading: "Of credits", path: "maxUsageCredits" },
        { heading: "Networks", path: "networkLimit", as: "list" },
        { heading: "Id", path: "id", as: "code" },
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
            "Ends the key. Its webhooks get nothing more, and the console forgets it when it is this tab's own.",
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
      description: "Who changed what through the API, newest first.",
      path: "/audit",
      rowsMember: "AuditEntries",
      emptyText: "Nothing was changed yet, or nothing that the filters leave.",
      filters: [
        { name: "apiKeyId", label: "Key", knownIds: API_KEYS },
        { name: "action", label: "Action" },
        { name: "after", label: "After", hint: "ISO 8601" },
        { name: "before", label: "Before" },
      ],
      columns: [
        { heading: "Action", path: "action" },
        { heading: "When", path: "at", as: "time" },
        { heading: "Key", path: "apiKeyId", as: "code" },
        { heading: "Target", path: "target", as: "code" },
        { heading: "Request", path: "requestId", as: "code" },
      ],
    },
  ],
};
