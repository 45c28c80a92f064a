/** The pages that are made of lists alone, in the order of the navigation. */
import type { PageDefinition } from "../ui/resource.ts";
import { agentsPage } from "./agents.ts";
import { disputesPage } from "./disputes/disputes.ts";
import { invoicesPage } from "./invoices.ts";
import { keysPage } from "./keys.ts";
import { sourcesPage } from "./sources/sources.ts";
import { tasksPage } from "./tasks.ts";
import { walletsPage } from "./wallets/wallets.ts";
import { webhooksPage } from "./webhooks.ts";
import { workerBotsPage } from "./worker-bots.ts";
import { x402Page } from "./x402.ts";

export const LIST_PAGES: readonly PageDefinition[] = [
  disputesPage,
  tasksPage,
  walletsPage,
  sourcesPage,
  webhooksPage,
  agentsPage,
  x402Page,
  invoicesPage,
  keysPage,
  workerBotsPage,
];
