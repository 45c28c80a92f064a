import { textAt } from "../ui/path.ts";
import type { Field, Page } from "../ui/resource.ts";
import { API_KEYS } from "./fields/known-ids.ts";

const limits: readonly Field[] = [
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

const isShared = (row: unknown) => textAt(row, "id") !== "env-admin";

export const keys: Page = {
  name: "keys",
  title: "Keys and audit",
  needs: "Admin",
  tabs: [
    {
      name: "keys",
      title: "API keys",
      about: "Who may call the API, and how much. A key itself is shown once, when it is created.",
      path: "/api-key",
      rows: "ApiKeys",
      empty: "There is no API key but the one of the deployment.",
      columns: [
        { head: "Key", at: "token" },
        { head: "Name", at: "name" },
        { head: "Last used", at: "lastUsedAt", as: "time" },
        { head: "Status", at: "status", as: "tag" },
        { head: "Permission", at: "permission" },
        { head: "+PAY", at: "canPay", as: "flag" },
        { head: "Limited", at: "usageLimited", as: "flag" },
        { head: "Used", at: "accumulatedUsageCredits" },
        { head: "Of credits", at: "maxUsageCredits" },
        { head: "Networks", at: "networkLimit", as: "list" },
        { head: "Id", at: "id", as: "code" },
      ],
      creates: [
        {
          name: "create",
          label: "Create key",
          about: "Makes a key, which is shown once.",
          method: "POST",
          path: "/api-key",
          fields: limits.map(({ from: _, ...field }) => field),
          shows: [
            { head: "API key", at: "token", as: "secret" },
            { head: "Id", at: "id" },
          ],
        },
      ],
      actions: [
        {
          name: "change",
          label: "Change",
          about: "Changes what the key may do. It holds everywhere within ten seconds.",
          method: "PATCH",
          path: "/api-key",
          fields: limits,
          fromRow: { id: "id" },
          when: isShared,
        },
        {
          name: "revoke",
          label: "Revoke",
          about:
            "Ends the key. Its webhooks get nothing more, and the console forgets it when it is this tab's own.",
          method: "DELETE",
          path: "/api-key",
          fromRow: { id: "id" },
          isFinal: true,
          when: isShared,
        },
      ],
      related: [{ label: "What it did", page: "keys", tab: "audit", query: { apiKeyId: "id" } }],
    },
    {
      name: "audit",
      title: "Audit",
      about: "Who changed what through the API, newest first.",
      path: "/audit",
      rows: "AuditEntries",
      empty: "Nothing was changed yet, or nothing that the filters leave.",
      filters: [
        { name: "apiKeyId", label: "Key (id)", known: API_KEYS },
        { name: "action", label: "Action" },
        { name: "after", label: "After", hint: "ISO 8601" },
        { name: "before", label: "Before" },
      ],
      columns: [
        { head: "Action", at: "action" },
        { head: "When", at: "at", as: "time" },
        { head: "Key", at: "apiKeyId", as: "code" },
        { head: "Target", at: "target", as: "code" },
        { head: "Request", at: "requestId", as: "code" },
      ],
    },
  ],
};
