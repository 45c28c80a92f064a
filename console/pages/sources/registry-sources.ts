/** The policies whose tokens are agents. */
import { textAt } from "../../ui/path.ts";
import type { Resource } from "../../ui/resource.ts";
import { showBudgetAction } from "./budget.ts";
import { outageColumns } from "./providers.ts";

export const registrySources: Resource = {
  name: "registry",
  title: "Registry sources",
  description: "Each token of these policies is an agent of the registry.",
  path: "/registry-source",
  rowsMember: "sources",
  emptyText: "The registry follows no policy yet. Add the policy that a payment source shows.",
  details: [{ heading: "Policy id", path: "policyId", as: "code" }, ...outageColumns],
  columns: [
    {
      heading: "Policy",
      path: "policyId",
      describe: (row) => textAt(row, "note") || textAt(row, "policyId"),
      second: "policyId",
    },
    { heading: "Network", path: "network" },
    { heading: "Read up to", path: "latestIdentifier", as: "hash" },
    { heading: "Error", path: "error" },
  ],
  creates: [
    {
      name: "create",
      label: "Add policy",
      description: "Follows a policy: each of its tokens becomes an agent of the registry.",
      method: "POST",
      path: "/registry-source",
      hasNetwork: true,
      addsNetwork: true,
      fields: [
        {
          name: "policyId",
          label: "Policy id",
          isRequired: true,
          hint: "A payment source shows the policy of its agents.",
        },
        { name: "rpcProviderApiKey", label: "Provider key", as: "secret", isRequired: true },
        { name: "url", label: "URL" },
        { name: "note", label: "Note" },
      ],
    },
  ],
  actions: [
    {
      name: "change",
      label: "Change",
      description: "Changes the note, or the provider's key.",
      method: "PATCH",
      path: "/registry-source",
      fields: [
        { name: "note", label: "Note", from: "note" },
        {
          name: "rpcProviderApiKey",
          label: "Provider key",
          as: "secret",
          hint: "Left as it is when empty.",
        },
      ],
      fromRow: { id: "id" },
    },
    showBudgetAction,
    {
      name: "remove",
      label: "Remove",
      description: "Stops following the policy; its agents become Deregistered and then disappear.",
      method: "DELETE",
      path: "/registry-source",
      fromRow: { id: "id" },
      isFinal: true,
    },
  ],
};
