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
import { ListPage, type ListPageProps } from "../ui/list/list-page.tsx";
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
import { X402Totals } from "./x402-totals.tsx";

const toNavigationEntry = (
  page: PageDefinition,
  icon: IconNode,
  more: Omit<ListPageProps, "page"> = {},
): NavigationEntry => ({
  ...page,
  icon,
  Component: () => <ListPage page={page} {...more} />,
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
      toNavigationEntry(x402Page, Coins, { load: loadEvmTokens, Summary: X402Totals }),
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
