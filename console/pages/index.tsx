/** The pages, in the order of the navigation. */
import { ListPage } from "../ui/list/list-page.tsx";
import type { NavigationEntry } from "../ui/navigation-entry.ts";
import type { PageDefinition } from "../ui/resource.ts";
import { createEscrowPage } from "./escrow/escrow-list.tsx";
import { LIST_PAGES } from "./lists.ts";
import { Overview } from "./overview/overview.tsx";

const toNavigationEntry = (page: PageDefinition): NavigationEntry => ({
  ...page,
  Component: () => <ListPage page={page} />,
});

export const NAVIGATION: readonly NavigationEntry[] = [
  { name: "overview", title: "Overview", access: "User", Component: Overview },
  createEscrowPage("payment"),
  createEscrowPage("purchase"),
  ...LIST_PAGES.map(toNavigationEntry),
];
