/** A page that is made of lists: one, or several as tabs. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { hasAccess, keyStatus } from "../../api/session.ts";
import { drafts } from "../drafts.ts";
import type { PageDefinition } from "../resource.ts";
import { pageHref, readRoute, route } from "../route.ts";
import { LoadingIndicator } from "../status.tsx";
import { pickSharedFilters } from "./filters.tsx";
import { ResourceList } from "./resource-list.tsx";

export interface ListPageProps {
  page: PageDefinition;
  /** Reads what the lists and forms are made with. They are shown when it ends, even when it fails. */
  load?: () => Promise<void>;
  /** What stands above the first list, such as its sums. */
  Summary?: ComponentType;
}

export function ListPage({ page, load, Summary }: ListPageProps) {
  const tabs = page.tabs.filter(({ needs }) => hasAccess(needs ?? page.access));
  const [isReady, setReady] = useState(load === undefined);
  const isKeyKnown = keyStatus.value !== null;
  useEffect(() => {
    if (!isKeyKnown || load === undefined) return;
    load()
      .catch(() => undefined)
      .finally(() => setReady(true));
  }, [load, isKeyKnown]);
  const { query } = route.value;
  const selected = tabs.find(({ name }) => name === query.tab) ?? tabs[0];
  const shared = selected ? pickSharedFilters(selected, query) : {};
  return (
    <>
      <div class="title">
        <h1>{page.title}</h1>
      </div>
      {tabs.length > 1 && (
        <nav class="tabs" aria-label={page.title}>
          {tabs.map(({ name, title }, i) => (
            <TabLink
              key={name}
              isCurrent={name === selected?.name}
              href={pageHref(page.name, "", { tab: i === 0 ? undefined : name, ...shared })}
              title={title}
            />
          ))}
        </nav>
      )}
      <LeftForms page={page.name} />
      {!isReady && <LoadingIndicator />}
      {isReady && Summary && selected === tabs[0] && <Summary />}
      {isReady && selected && <ResourceList key={selected.name} resource={selected} />}
    </>
  );
}

/** The ways back to the forms of the page that were left with input. */
function LeftForms({ page }: { page: string }) {
  const left = [...drafts.value].filter(([, { fragment }]) => readRoute(fragment).page === page);
  return (
    <>
      {left.map(([name, { label, fragment }]) => (
        <p class="notice" role="status" key={name}>
          What you typed was not sent yet. <a href={fragment}>Go back to {label}</a>
        </p>
      ))}
    </>
  );
}

function TabLink({ title, href, isCurrent }: { title: string; href: string; isCurrent: boolean }) {
  return (
    <a href={href} {...(isCurrent && { "aria-current": "page" })}>
      {title}
    </a>
  );
}
