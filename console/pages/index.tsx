/** The pages, in the order of the navigation. */
import {
  ArrowDownLeft,
  ArrowUpRight,
  Bot,
  Coins,
  FileText,
  Gauge,
  KeyRound,
  Link2,
  ListChecks,
  Scale,
  ServerCog,
  Wallet,
  Webhook,
} from "lucide";
import type { IconNode } from "../ui/icon.tsx";
import { ListPage } from "../ui/list/list-page.tsx";
import type { NavigationEntry, NavigationGroup } from "../ui/navigation-entry.ts";
import type { PageDefinition } from "../ui/resource.ts";
import { agentsPage } from "./agents.ts";
import { disputesPage } from "./disputes/disputes.ts";
import { createEscrowPage } from "./escrow/escrow-list.tsx";
import { invoicesPage } from "./invoices.ts";
import { keysPage } from "./keys.ts";
import { loadEvmTokens } from "./load-evm-tokens.ts";
import { Overview } from "./overview/overview.tsx";
import { sourcesPage } from "./sources/sources.ts";
import { tasksPage } from "./tasks.ts";
import { walletsPage } from "./wallets/wallets.ts";
import { webhooksPage } from "./webhooks.ts";
import { workerBotsPage } from "./worker-bots.ts";
import { x402Page } from "./x402.ts";

/** @param load - reads what the page's lists show better with */
const toNavigationEntry = (
  page: PageDefinition,
  icon: IconNode,
  load?: () => Promise<void>,
): NavigationEntry => ({
  ...page,
  icon,
  Component: () => <ListPage page={page} load={load} />,
});

export const NAVIGATION_GROUPS: readonly NavigationGroup[] = [
  {
    entries: [
      { name: "overview", title: "Overview", access: "User", icon: Gauge, Component: Overview },
    ],
  },
  {
    title: "Money",
    entries: [
      { ...createEscrowPage("payment"), icon: ArrowDownLeft },
      { ...createEscrowPage("purchase"), icon: ArrowUpRight },
      toNavigationEntry(disputesPage, Scale),
      toNavigationEntry(invoicesPage, FileText),
    ],
  },
  {
    title: "Operations",
    entries: [
      toNavigationEntry(tasksPage, ListChecks),
      toNavigationEntry(walletsPage, Wallet),
      toNavigationEntry(sourcesPage, Link2),
    ],
  },
  {
    title: "Agents",
    entries: [
      toNavigationEntry(agentsPage, Bot),
      toNavigationEntry(x402Page, Coins, loadEvmTokens),
      toNavigationEntry(workerBotsPage, ServerCog),
    ],
  },
  {
    title: "Access",
    entries: [toNavigationEntry(webhooksPage, Webhook), toNavigationEntry(keysPage, KeyRound)],
  },
];

export const NAVIGATION: readonly NavigationEntry[] = NAVIGATION_GROUPS.flatMap(
  ({ entries }) => entries,
);
