/** The pages, in the order of the navigation. */
import { ListPage } from "../ui/list/list-page.tsx";
import type { NavigationEntry } from "../ui/navigation-entry.ts";
import type { Page } from "../ui/resource.ts";
import { escrowPage } from "./escrow/list.tsx";
import { LIST_PAGES } from "./lists.ts";
import { Overview } from "./overview/overview.tsx";

const listed = (page: Page): NavigationEntry => ({
  ...page,
  Show: () => <ListPage page={page} />,
});

export const NAVIGATION: readonly NavigationEntry[] = [
  { name: "overview", title: "Overview", needs: "User", Show: Overview },
  escrowPage("payment"),
  escrowPage("purchase"),
  ...LIST_PAGES.map(listed),
];
