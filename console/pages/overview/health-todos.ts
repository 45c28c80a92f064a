/** Problems that the health of the service reports beside the lists. */
import { type Access, hasAccess } from "../../api/session.ts";
import { pageHref } from "../../ui/route.ts";
import type { Todo, TodoKindName } from "./todo-kinds.ts";

export interface SourceHealth {
  id: string;
  network: string;
  lastSyncAgeMs: number | null;
  error: string | null;
}

export interface Health {
  status: "ok" | "degraded";
  reasons: { kind: string; count: number; text?: string }[];
  sources: SourceHealth[];
}

/** A problem whose rows the lists show. */
interface ListedProblem {
  /** Kinds of the rows. The first one stands where no list shows a row. */
  kinds: readonly [TodoKindName, ...TodoKindName[]];
  name: string;
  page: string;
  access: Access;
}

const LISTED_PROBLEMS: Readonly<Record<string, ListedProblem>> = {
  SOURCE_STUCK: {
    kinds: ["source", "registry"],
    name: "it was not read for too long",
    page: "sources",
    access: "Admin",
  },
  PROVIDER_OUT: {
    kinds: ["provider"],
    name: "the next one is used",
    page: "sources",
    access: "Admin",
  },
  WALLET_STUCK: {
    kinds: ["walletStuck", "walletSpent", "walletLacks", "walletToppedUp", "walletBlocked"],
    name: "",
    page: "wallets",
    access: "+PAY",
  },
  ENDPOINT_DISABLED: {
    kinds: ["endpoint"],
    name: "of this service",
    page: "webhooks",
    access: "+PAY",
  },
};

/** Names of the problems of the database and the queues. */
const STORAGE_PROBLEMS: Readonly<Record<string, string>> = {
  QUEUE_DEAD: "Messages were given up",
  DATABASE_NEARLY_FULL: "The database is nearly full",
  DATABASE_FULL: "The database is full and refuses changes",
  ARCHIVE_NEEDED: "All archives are full",
  ARCHIVE_BEHIND: "An archive was set back",
  ARCHIVE_UNBOUND: "An archive with escrows is not bound",
  ARCHIVE_UNMIGRATED: "An archive lacks tables or columns",
};
const STORAGE_ADVICE: Readonly<Record<string, string>> = {
  QUEUE_DEAD: "The service's log has the reason. The next run of the schedule repeats the work.",
};

/** @param listed - all problems of the lists, hints included */
export function toHealthTodos(reasons: Health["reasons"], listed: readonly Todo[]): Todo[] {
  return reasons.flatMap(({ kind: reason, count, text }): Todo[] => {
    const problem = LISTED_PROBLEMS[reason];
    if (problem === undefined) {
      const advice = STORAGE_ADVICE[reason];
      const name = STORAGE_PROBLEMS[reason] ?? text ?? reason;
      return [{ kind: "storage", name, href: "/docs/monitoring.md", ...(advice && { advice }) }];
    }
    const { kinds, name, page, access } = problem;
    const found = listed.filter(({ kind }) => kinds.includes(kind));
    const hints = found.filter(({ isHint }) => isHint);
    const shown = found.length - hints.length;
    if (shown < count && hints.length > 0)
      return hints.toSorted((a, b) => (a.otherNetwork ?? "").localeCompare(b.otherNetwork ?? ""));
    if (shown > 0) return [];
    const [kind] = kinds;
    if (hasAccess(access)) return [{ kind, name, href: pageHref(page) }];
    return [{ kind, name, href: "", advice: "An administrator of the service has to look." }];
  });
}
