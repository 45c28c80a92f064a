import { textAt } from "../ui/path.ts";
import type { Action, Column, Field, PageDefinition, Resource } from "../ui/resource.ts";
import { checkUrl } from "./fields/checks.ts";
import { createAmountField, tokenField } from "./fields/funds.ts";
import { SELLING_WALLET_KEYS } from "./fields/known-ids.ts";

const REGISTRATION_STATUSES = ["Registered", "Deregistered", "Pending", "Failed"] as const;

const registrationColumns: readonly Column[] = [
  { heading: "Name", path: "name", second: "agentIdentifier" },
  { heading: "State", path: "state", as: "tag" },
  { heading: "Problem", path: "error" },
  { heading: "Transaction", path: "CurrentTransaction.txHash", as: "hash" },
  { heading: "Created", path: "createdAt", as: "time" },
];

const registrationDetails: readonly Column[] = [
  { heading: "Agent's token", path: "agentIdentifier", as: "code" },
  { heading: "Selling wallet", path: "SmartContractWallet.walletAddress", as: "address" },
];

/** Checks that the agent answered. */
function describeUptime(row: unknown): string {
  const [up, all] = [Number(textAt(row, "uptimeCount")), Number(textAt(row, "uptimeCheckCount"))];
  return all === 0 ? "not checked" : `${Math.round((up * 100) / all)} % of ${all} checks`;
}

/** Why the agent's metadata cannot be read, or why its last check failed. */
const describeProblem = (row: unknown) =>
  textAt(row, "statusReason") || textAt(row, "lastUptimeCheckError");

const walletField: Field = {
  name: "sellingWalletVkey",
  label: "Selling wallet",
  knownIds: SELLING_WALLET_KEYS,
  isRequired: true,
  hint: "It pays for the transaction and holds the agent's token.",
};
const sharedFields: readonly Field[] = [
  walletField,
  { name: "name", label: "Name", isRequired: true },
  { name: "description", label: "Description", as: "long" },
];

const isRegistered = (row: unknown) =>
  /^(RegistrationConfirmed|UpdateConfirmed|UpdateFailed|DeregistrationFailed)$/.test(
    textAt(row, "state"),
  );
const isRemovable = (row: unknown) =>
  /^(RegistrationFailed|DeregistrationConfirmed)$/.test(textAt(row, "state"));

const createDeregisterAction = (path: string): Action => ({
  name: "deregister",
  label: "Deregister",
  description: "Burns the agent's token. Nobody can quote for it afterwards.",
  method: path === "/registry" ? "DELETE" : "POST",
  path: path === "/registry" ? path : `${path}/deregister`,
  outcome: "requested",
  fromRow: { agentIdentifier: "agentIdentifier" },
  hasNetwork: true,
  needs: "+PAY",
  isFinal: true,
  isApplicable: isRegistered,
});

const createRemoveAction = (path: string): Action => ({
  name: "remove",
  label: "Remove record",
  description: "Removes the record of what failed or is over. The chain is not touched.",
  method: "DELETE",
  path,
  fromRow: { id: "id" },
  isFinal: true,
  isApplicable: isRemovable,
});

const createRegistrationList = (
  name: string,
  title: string,
  path: string,
  fields: readonly Field[],
): Resource => ({
  name,
  title,
  description: "Registrations that were made here. Each one is a transaction of a selling wallet.",
  path,
  rowsMember: "Assets",
  hasNetwork: true,
  emptyText:
    "No agent was registered here on this network. Register one, or choose another network.",
  filters: [
    { name: "filterStatus", label: "Status", as: "choice", choices: REGISTRATION_STATUSES },
    { name: "searchQuery", label: "Search", hint: "Search by name or identifier" },
  ],
  columns: registrationColumns,
  details: registrationDetails,
  creates: [
    {
      name: "register",
      label: "Register agent",
      description: "Mints the agent's token, which says in public what the agent is.",
      method: "POST",
      path,
      outcome: "requested",
      hasNetwork: true,
      fields,
      needs: "+PAY",
    },
  ],
  actions: [createDeregisterAction(path), createRemoveAction(path)],
});

export const agentsPage: PageDefinition = {
  name: "agents",
  title: "Agents",
  access: "User",
  tabs: [
    {
      name: "registry",
      title: "Registry",
      description:
        "Agents found on the chain. One is Invalid when its metadata cannot be read, and says why.",
      method: "POST",
      path: "/registry-entry",
      rowsMember: "entries",
      hasNetwork: true,
      elsewhere: [
        { label: "Register agent", tab: "registered", action: "register", needs: "+PAY" },
      ],
      emptyText: "The registry knows no agent on this network, or none that the filters leave.",
      filters: [
        {
          name: "filter.status",
          label: "Status",
          as: "choices",
          choices: ["Online", "Offline", "Invalid", "Deregistered"],
        },
        { name: "filter.policyId", label: "Policy id" },
      ],
      columns: [
        { heading: "Name", path: "name" },
        { heading: "Status", path: "status", as: "tag" },
        { heading: "Why", path: "statusReason", describe: describeProblem },
        { heading: "Uptime", path: "uptimeCount", describe: describeUptime },
        { heading: "Checked", path: "lastUptimeCheck", as: "time" },
        { heading: "Price", path: "AgentPricing.FixedPricing.Amounts", as: "funds" },
        { heading: "URL", path: "apiBaseUrl", as: "link" },
      ],
      details: [
        { heading: "Agent's token", path: "agentIdentifier", as: "code" },
        { heading: "Description", path: "description" },
      ],
    },
    createRegistrationList("registered", "Registered here", "/registry", [
      ...sharedFields,
      { name: "apiBaseUrl", label: "URL of its API", isRequired: true, check: checkUrl },
      { name: "Tags", label: "Tags", as: "lines", isRequired: true, hint: "One on each line." },
      {
        name: "Capability.name",
        label: "Capability",
        isRequired: true,
        hint: "What the agent does, in a few words.",
      },
      { name: "Capability.version", label: "Its version", initial: "1.0.0", isRequired: true },
      { name: "Author.name", label: "Author", isRequired: true },
      {
        name: "AgentPricing.pricingType",
        label: "Pricing",
        as: "choice",
        choices: ["Fixed", "Free", "Dynamic"],
        initial: "Fixed",
        isRequired: true,
      },
      {
        name: "AgentPricing.Pricing",
        label: "Price",
        as: "rows",
        rowName: "amount",
        rowFields: [createAmountField("amount"), tokenField],
        initial: '[{"unit":"","amount":""}]',
        isRequired: true,
        isShown: (values) => values["AgentPricing.pricingType"] === "Fixed",
        hint: "A buyer pays all amounts together.",
      },
    ]),
    {
      name: "inbox",
      title: "Inbox",
      description:
        "Inbox registrations found on the chain, and whether their provider vouches for them.",
      method: "POST",
      path: "/inbox-agent-registration",
      rowsMember: "registrations",
      hasNetwork: true,
      emptyText: "There is no inbox registration on this network.",
      filters: [
        {
          name: "filter.status",
          label: "Status",
          as: "choices",
          choices: ["Pending", "Verified", "Invalid", "Deregistered"],
        },
        { name: "filter.agentSlug", label: "Slug" },
      ],
      columns: [
        { heading: "Name", path: "name" },
        { heading: "Slug", path: "agentSlug" },
        { heading: "Status", path: "status", as: "tag" },
        { heading: "Provider", path: "providerUrl", as: "link" },
        { heading: "E-mail", path: "linkedEmail" },
        { heading: "Since", path: "statusUpdatedAt", as: "time" },
      ],
      actions: [
        {
          name: "verify",
          label: "Verify again",
          description: "Asks the provider again, at once.",
          method: "POST",
          path: "/inbox-agent-registration-refresh",
          fromRow: { agentIdentifier: "agentIdentifier" },
          hasNetwork: true,
          needs: "User",
        },
      ],
    },
    createRegistrationList("inbox-registered", "Inbox agents here", "/inbox-agents", [
      ...sharedFields,
      { name: "agentSlug", label: "Slug", isRequired: true },
    ]),
  ],
};
