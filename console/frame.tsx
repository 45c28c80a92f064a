/** What every page stands in: navigation, the network, and whether what is shown is up to date. */
import { LogOut, Menu, Plus, Search, X } from "lucide";
import { Component } from "preact";
import { useEffect, useState } from "preact/hooks";
import { callApi, clearCachedResponses } from "./api/request.ts";
import { apiKey, hasAccess, type KeyStatus, keyStatus, signOut } from "./api/session.ts";
import { FirstRun } from "./pages/first-run.tsx";
import { NAVIGATION, NAVIGATION_GROUPS } from "./pages/index.tsx";
import { LIST_PAGES } from "./pages/lists.ts";
import { searchObjects } from "./pages/search.ts";
import { unitDetails } from "./ui/format.ts";
import { Icon } from "./ui/icon.tsx";
import type { NavigationEntry } from "./ui/navigation-entry.ts";
import { type Command, openPalette, Palette } from "./ui/palette.tsx";
import {
  changeQuery,
  hrefOf,
  LIST_START_QUERY,
  NETWORKS,
  network,
  pageHref,
  route,
} from "./ui/route.ts";
import { SignIn } from "./ui/sign-in.tsx";
import { Announcement, LastReadStatus } from "./ui/status.tsx";
import { ThemeChoice } from "./ui/theme.tsx";
import { PageLink } from "./ui/value.tsx";

interface UnitRow {
  unit: string;
  ticker: string;
  decimals: number;
}

/** What every page needs to know, once for each key. */
async function loadKeyAndUnits(): Promise<void> {
  keyStatus.value ??= await callApi<KeyStatus>({ method: "GET", path: "/api-key-status" });
  const { Units } = await callApi<{ Units: UnitRow[] }>({ method: "GET", path: "/units" });
  unitDetails.value = new Map(Units.map(({ unit, ...rest }) => [unit, rest]));
}

/** Pages that the first steps lead to. */
const FIRST_STEP_PAGES: ReadonlySet<string> = new Set(["overview", "sources", "wallets", "agents"]);

export function Frame() {
  const token = apiKey.value;
  useEffect(() => {
    clearCachedResponses();
    // A page that needs them shows the same problem, with its own next try.
    if (token !== null) loadKeyAndUnits().catch(() => undefined);
  }, [token]);
  if (token === null) return <SignIn />;
  const entry = NAVIGATION.find(({ name }) => name === route.value.page);
  return (
    <>
      <button type="button" class="skip" onClick={focusMain}>
        Skip to content
      </button>
      <Header />
      <Navigation current={entry} />
      <main id="main" tabIndex={-1}>
        {entry && FIRST_STEP_PAGES.has(entry.name) && <FirstRun />}
        {entry ? (
          <PageErrorBoundary key={entry.name} entry={entry} />
        ) : (
          <p class="empty">
            There is no such page. <a href={hrefOf("overview")}>Go to the overview.</a>
          </p>
        )}
      </main>
      <Palette commands={listCommands()} search={searchObjects} />
      <Announcement />
    </>
  );
}

/** The pages, their lists, and what can be created, as far as the key may. */
function listCommands(): Command[] {
  const pages = NAVIGATION.filter(({ access }) => hasAccess(access)).map(
    ({ name, title, icon }): Command => ({
      label: title,
      kind: "Page",
      href: pageHref(name),
      icon,
    }),
  );
  const lists = LIST_PAGES.filter(({ access }) => hasAccess(access)).flatMap(
    ({ name, title, access, tabs }) => {
      const icon = NAVIGATION.find((entry) => entry.name === name)?.icon;
      return tabs
        .filter(({ needs }) => hasAccess(needs ?? access))
        .flatMap((tab, i): Command[] => [
          ...(i === 0
            ? []
            : [
                {
                  label: `${title}: ${tab.title}`,
                  kind: "List",
                  href: pageHref(name, "", { tab: tab.name }),
                  icon,
                },
              ]),
          ...(tab.creates ?? [])
            .filter(({ needs = "Admin" }) => hasAccess(needs))
            .map((action) => ({
              label: action.label,
              kind: `Action, ${title.toLowerCase()}`,
              href: pageHref(name, "", { tab: i === 0 ? undefined : tab.name, do: action.name }),
              icon: Plus,
            })),
        ]);
    },
  );
  return [...pages, ...lists];
}

/** No link: the fragment is the route. */
function focusMain(): void {
  document.getElementById("main")?.focus();
}

function Header() {
  const status = keyStatus.value;
  return (
    <header class="top">
      <button type="button" class="find" onClick={openPalette}>
        <Icon node={Search} />
        <span>Search or go to…</span>
        <kbd>Ctrl K</kbd>
      </button>
      <LastReadStatus />
      <label class={network.value === "Mainnet" ? "choice mainnet" : "choice"}>
        <span>Network</span>
        <select
          value={network.value}
          onChange={(event) =>
            changeQuery({ ...LIST_START_QUERY, network: event.currentTarget.value })
          }
        >
          {NETWORKS.map((one) => (
            <option key={one} selected={one === network.value}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <ThemeChoice />
      <button
        type="button"
        class="plain leave"
        onClick={() => signOut()}
        title={status ? `Sign out; signed in with ${status.token}` : "Sign out"}
      >
        <Icon node={LogOut} />
        <span>Sign out</span>
      </button>
    </header>
  );
}

function Navigation({ current }: { current: NavigationEntry | undefined }) {
  const [isOpen, setOpen] = useState(false);
  const href = route.value;
  // A page was chosen.
  useEffect(() => setOpen(false), [href]);
  const isOffered = ({ access, isHidden }: NavigationEntry) => hasAccess(access) && !isHidden;
  return (
    <nav class="side" aria-label="Pages">
      <div class="brand">
        <img src="/console/icon.svg" alt="" />
        Agent payments
      </div>
      {/* On a phone it stands in place of the list, and says which page is shown. */}
      <button
        type="button"
        class="menu"
        aria-expanded={isOpen}
        aria-controls="pages"
        onClick={() => setOpen(!isOpen)}
      >
        <Icon node={isOpen ? X : Menu} />
        {current?.title ?? "Pages"}
      </button>
      <div class={isOpen ? "pages open" : "pages"} id="pages">
        {NAVIGATION_GROUPS.map(({ title, entries }) => {
          const offered = entries.filter(isOffered);
          if (offered.length === 0) return null;
          return (
            <div key={title}>
              {title && <h2>{title}</h2>}
              <ul>
                {offered.map((entry) => (
                  <li key={entry.name}>
                    <NavigationLink entry={entry} isCurrent={current === entry} />
                  </li>
                ))}
              </ul>
            </div>
          );
        })}
      </div>
    </nav>
  );
}

function NavigationLink({ entry, isCurrent }: { entry: NavigationEntry; isCurrent: boolean }) {
  const query = network.value === "Mainnet" ? { network: "Mainnet" } : {};
  return (
    <a href={hrefOf(entry.name, "", query)} {...(isCurrent && { "aria-current": "page" })}>
      {entry.icon && <Icon node={entry.icon} size={18} />}
      {entry.title}
    </a>
  );
}

/** A page that fails shows why, and the others go on. */
class PageErrorBoundary extends Component<{ entry: NavigationEntry }, { error: Error | null }> {
  override state = { error: null as Error | null };

  override componentDidCatch(error: Error): void {
    console.error(error);
    this.setState({ error });
  }

  override componentDidMount(): void {
    document.title = `${this.props.entry.title} · console`;
  }

  render() {
    const { entry } = this.props;
    const { error } = this.state;
    if (error)
      return (
        <p class="problem" role="alert">
          This page cannot be shown: {error.message}. <PageLink to="overview">Overview</PageLink>
        </p>
      );
    if (keyStatus.value !== null && !hasAccess(entry.access))
      return <p class="empty">This page needs an API key with {entry.access} access.</p>;
    return <entry.Component />;
  }
}
