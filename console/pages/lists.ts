/** The pages that are made of lists alone, in the order of the navigation. */
import type { Page } from "../ui/resource.ts";
import { agents } from "./agents.ts";
import { disputes } from "./disputes/disputes.ts";
import { invoices } from "./invoices.ts";
import { keys } from "./keys.ts";
import { sources } from "./sources/sources.ts";
import { tasks } from "./tasks.ts";
import { wallets } from "./wallets/wallets.ts";
import { webhooks } from "./webhooks.ts";
import { workerBots } from "./worker-bots.ts";
import { x402 } from "./x402.ts";

export const LIST_PAGES: readonly Page[] = [
  disputes,
  tasks,
  wallets,
  sources,
  webhooks,
  agents,
  x402,
  invoices,
  keys,
  workerBots,
];
