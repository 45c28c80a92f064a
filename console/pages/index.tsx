/** The pages, in the order of the navigation. */
import type { ComponentType } from "preact";
import type { Access } from "../api/session.ts";
import type { Page } from "../ui/resource.ts";
import { ListPage } from "../ui/tabs.tsx";
import { agents } from "./agents.ts";
import { escrowPage } from "./escrows.tsx";
import { invoices } from "./invoices.ts";
import { keys } from "./keys.ts";
import { Overview } from "./overview.tsx";
import { sources } from "./sources.ts";
import { wallets } from "./wallets.ts";
import { webhooks } from "./webhooks.ts";
import { workerBots } from "./worker-bots.ts";
import { x402 } from "./x402.ts";

export interface NavigationEntry {
  name: string;
  title: string;
  needs: Access;
  Show: ComponentType;
  /** It is reached from other pages. */
  isHidden?: boolean;
}

const listed = (page: Page): NavigationEntry => ({
  ...page,
  Show: () => <ListPage page={page} />,
});

/** The pages that are made of lists alone. */
export const LIST_PAGES: readonly Page[] = [
  wallets,
  sources,
  webhooks,
  agents,
  x402,
  invoices,
  keys,
  workerBots,
];

export const NAVIGATION: readonly NavigationEntry[] = [
  { name: "overview", title: "Overview", needs: "User", Show: Overview },
  escrowPage("payment"),
  escrowPage("purchase"),
  ...LIST_PAGES.map(listed),
];
