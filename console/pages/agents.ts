import { textAt } from "../ui/path.ts";
import type { Action, Column, Field, Page, Resource } from "../ui/resource.ts";
import { SELLING_WALLET_KEYS } from "./fields/known-ids.ts";

const REGISTRATION_STATUSES = ["Registered", "Deregistered", "Pending", "Failed"] as const;

const registrationColumns: readonly Column[] = [
  { head: "Name", at: "name" },
  { head: "State", at: "state", as: "tag" },
  { head: "Error", at: "error" },
  { head: "Agent", at: "agentIdentifier", as: "code" },
  { head: "Wallet", at: "SmartContractWallet.walletAddress", as: "code" },
  { head: "Transaction", at: "CurrentTransaction.txHash", as: "code" },
  { head: "Made", at: "createdAt", as: "time" },
];

const wallet: Field = {
  name: "sellingWalletVkey",
  label: "Selling wallet (key hash)",
  known: SELLING_WALLET_KEYS,
  isRequired: true,
  hint: "It pays for the transaction and holds the agent's token.",
};
const shared: readonly Field[] = [
  wallet,
  { name: "name", label: "Name", isRequired: true },
  { name: "description", label: "Description", as: "long" },
];

const isRegistered = (row: unknown) =>
  /^(RegistrationConfirmed|UpdateConfirmed|DeregistrationFailed)$/.test(textAt(row, "state"));
const isOver = (row: unknown) =>
  /^(RegistrationFailed|DeregistrationConfirmed)$/.test(textAt(row, "state"));

const deregister = (path: string): Action => ({
  name: "deregister",
  label: "Deregister",
  about: "Burns the agent's token. Nobody can quote for it afterwards.",
  method: path === "/registry" ? "DELETE" : "POST",
  path: path === "/registry" ? path : `${path}/deregister`,
  fromRow: { agentIdentifier: "agentIdentifier" },
  hasNetwork: true,
  needs: "+PAY",
  isFinal: true,
  when: isRegistered,
});

const remove = (path: string): Action => ({
  name: "remove",
  label: "Remove record",
  about: "Removes the record of what failed or is over. The chain is not touched.",
  method: "DELETE",
  path,
  fromRow: { id: "id" },
  isFinal: true,
  when: isOver,
});

const registrations = (
  name: string,
  title: string,
  path: string,
  fields: readonly Field[],
): Resource => ({
  name,
  title,
  about:
    "Agents that were registered here. Each registration is a transaction of a selling wallet.",
  path,
  rows: "Assets",
  hasNetwork: true,
  empty: "No agent was registered here on this network.",
  filters: [
    { name: "filterStatus", label: "Status", as: "choice", choices: REGISTRATION_STATUSES },
    { name: "searchQuery", label: "Search" },
  ],
  columns: registrationColumns,
  creates: [
    {
      name: "register",
      label: "Register",
      about: "Mints the agent's token, which says in public what the agent is.",
      method: "POST",
      path,
      hasNetwork: true,
      fields,
      needs: "+PAY",
    },
  ],
  actions: [deregister(path), remove(path)],
});

export const agents: Page = {
  name: "agents",
  title: "Agents",
  needs: "User",
  tabs: [
    {
      name: "registry",
      title: "Registry",
      about:
        "Agents found on the chain. One is Invalid when its metadata cannot be read, and says why.",
      method: "POST",
      path: "/registry-entry",
      rows: "entries",
      hasNetwork: true,
      empty: "The registry knows no agent on this network, or none that the filters leave.",
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
        { head: "Name", at: "name" },
        { head: "Status", at: "status", as: "tag" },
        { head: "Why", at: "statusReason" },
        { head: "Up", at: "uptimeCount" },
        { head: "Of checks", at: "uptimeCheckCount" },
        { head: "Checked", at: "lastUptimeCheck", as: "time" },
        { head: "Price", at: "AgentPricing.FixedPricing.Amounts", as: "funds" },
        { head: "URL", at: "apiBaseUrl", as: "link" },
        { head: "Agent", at: "agentIdentifier", as: "code" },
      ],
    },
    registrations("registered", "Registered here", "/registry", [
      ...shared,
      { name: "apiBaseUrl", label: "URL of its API", isRequired: true },
      { name: "Tags", label: "Tags", as: "lines", isRequired: true, hint: "One a line." },
      { name: "Capability.name", label: "Capability", isRequired: true },
      { name: "Capability.version", label: "Its version", initial: "1.0.0", isRequired: true },
      { name: "Author.name", label: "Author", isRequired: true },
      {
        name: "AgentPricing",
        label: "Pricing",
        as: "json",
        isRequired: true,
        initial: '{"pricingType": "Fixed", "Pricing": [{"unit": "", "amount": "5000000"}]}',
      },
    ]),
    {
      name: "inbox",
      title: "Inbox",
      about: "Inbox registrations found on the chain, and whether their provider vouches for them.",
      method: "POST",
      path: "/inbox-agent-registration",
      rows: "registrations",
      hasNetwork: true,
      empty: "There is no inbox registration on this network.",
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
        { head: "Name", at: "name" },
        { head: "Slug", at: "agentSlug" },
        { head: "Status", at: "status", as: "tag" },
        { head: "Provider", at: "providerUrl", as: "link" },
        { head: "E-mail", at: "linkedEmail" },
        { head: "Since", at: "statusUpdatedAt", as: "time" },
      ],
      actions: [
        {
          name: "verify",
          label: "Verify again",
          about: "Asks the provider again, at once.",
          method: "POST",
          path: "/inbox-agent-registration-refresh",
          fromRow: { agentIdentifier: "agentIdentifier" },
          hasNetwork: true,
          needs: "User",
        },
      ],
    },
    registrations("inbox-registered", "Inbox agents here", "/inbox-agents", [
      ...shared,
      { name: "agentSlug", label: "Slug", isRequired: true },
    ]),
  ],
};
