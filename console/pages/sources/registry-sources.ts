/** The policies whose tokens are agents. */
import type { Resource } from "../../ui/resource.ts";
import { showBudget } from "./budget.ts";

export const registrySources: Resource = {
  name: "registry",
  title: "Registry sources",
  about: "The policies whose tokens are agents, which the registry is made of.",
  path: "/registry-source",
  rows: "sources",
  empty: "The registry follows no policy yet.",
  columns: [
    { head: "Policy", at: "policyId" },
    { head: "Network", at: "network" },
    { head: "Note", at: "note" },
    { head: "Last token", at: "latestIdentifier", as: "code" },
    { head: "Error", at: "error" },
  ],
  creates: [
    {
      name: "create",
      label: "Add policy",
      about: "Follows a policy: each of its tokens becomes an agent of the registry.",
      method: "POST",
      path: "/registry-source",
      hasNetwork: true,
      fields: [
        { name: "policyId", label: "Policy id", isRequired: true },
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
      about: "Changes the note, or the provider's key.",
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
    showBudget,
    {
      name: "remove",
      label: "Remove",
      about: "Stops following the policy; its agents become Deregistered and then disappear.",
      method: "DELETE",
      path: "/registry-source",
      fromRow: { id: "id" },
      isFinal: true,
    },
  ],
};
