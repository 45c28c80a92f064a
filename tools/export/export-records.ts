import { ServiceError } from "../../client/errors.ts";
import { type TransportOptions, transport } from "../../client/transport.ts";
import {
  type ApiRecord,
  type FoundIds,
  RECORD_KINDS,
  type RecordKind,
  type Selection,
} from "./record-kinds.ts";

export interface ExportOptions extends TransportOptions {
  /** Base URL of the service, without a path. */
  serviceUrl: string;
  network: string;
  /** Id of a managed wallet, or of an EVM wallet. */
  walletId?: string | undefined;
  keyId?: string | undefined;
  /** Records of a page at most; default: as many as each list allows. */
  pageSize?: number;
}

/** What the lines of an export are. */
export type ExportLine =
  | {
      network: string;
      wallet: string | null;
      key: string | null;
      startedAt: string;
      upTo: Record<string, string | null>;
    }
  | { kind: string; record: ApiRecord }
  | { isComplete: true; counts: Record<string, number> };

/**
 * Exports the records of a network, a wallet or a key, in portions, while the service works. The first
 * line names a value of each change clock. Each record that exists then follows once, at least as new
 * as it was then. The last line has the counts, so that a cut off export is noticed.
 *
 * A list is paged by ids, which no change moves. A diff would show a record again that changes meanwhile,
 * or show it too late. Each answer is at least as new as the answers before, by their bookmarks.
 *
 * @throws ServiceError
 */
export async function* exportRecords(options: ExportOptions): AsyncGenerator<ExportLine> {
  const { network, walletId, keyId = null } = options;
  const ask = createAsk(options);
  const isLedger = !network.includes(":");
  const upTo = isLedger ? await readClocks(ask, network) : {};
  const wallet = walletId === undefined ? null : await findWallet(ask, walletId, isLedger);
  const selection: Selection = { network, wallet, keyId };
  const startedAt = new Date().toISOString();
  yield { network, wallet: walletId ?? null, key: keyId, startedAt, upTo };

  const found = { wallets: new Set<unknown>(), webhooks: new Set<unknown>() };
  const counts: Record<string, number> = {};
  for (const kind of RECORD_KINDS) {
    if (!hasRecords(kind, selection)) continue;
    counts[kind.kind] = 0;
    for await (const record of listRecords(ask, kind, selection, found, options.pageSize)) {
      if (!isSelected(kind, record, selection, found)) continue;
      if (kind.kind === "wallet") found.wallets.add(record.id);
      if (kind.kind === "webhook") found.webhooks.add(record.id);
      counts[kind.kind] = (counts[kind.kind] ?? 0) + 1;
      const shown = Object.entries(record).filter(([name]) => !kind.omitted?.includes(name));
      yield { kind: kind.kind, record: Object.fromEntries(shown) };
    }
  }
  yield { isComplete: true, counts };
}

type Fields = Readonly<Record<string, unknown>>;
type Ask = (method: "GET" | "POST", path: string, fields: Fields) => Promise<ApiRecord>;

/** Sends requests, each with the bookmark of the answer before. */
function createAsk({ serviceUrl, ...options }: ExportOptions): Ask {
  const send = transport(options);
  let bookmark: string | null = null;
  return async (method, path, fields) => {
    const url = new URL(path, serviceUrl);
    if (method === "GET")
      for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, String(value));
    const response = await send(
      new Request(url, {
        method,
        headers: { ...(bookmark !== null && { "x-d1-bookmark": bookmark }) },
        ...(method === "POST" && { body: JSON.stringify(fields) }),
      }),
    );
    const body = (await response.json().catch(() => null)) as { data?: ApiRecord } | null;
    if (!response.ok || !body?.data) throw new ServiceError(response, body);
    bookmark = response.headers.get("x-d1-bookmark") ?? bookmark;
    return body.data;
  };
}

/** The diffs of each change clock of a network. */
const CLOCKS = {
  escrows: [
    { path: "/api/v1/payment/diff", list: "Payments" },
    { path: "/api/v1/purchase/diff", list: "Purchases" },
  ],
  registrations: [
    { path: "/api/v1/registry/diff", list: "Assets" },
    { path: "/api/v1/inbox-agents/diff", list: "Assets" },
  ],
  agents: [{ path: "/api/v1/registry-diff", list: "entries", isPost: true }],
  inboxes: [{ path: "/api/v1/inbox-agent-registration-diff", list: "registrations", isPost: true }],
} as const satisfies Record<string, readonly { path: string; list: string; isPost?: true }[]>;

const STAMPS = [
  "nextActionOrOnChainStateOrResultLastChangedAt",
  "registrationStateLastChangedAt",
  "statusUpdatedAt",
];
const MINUTE_MS = 60_000;
/** How far back stamps are looked for: a few requests find one close to the newest. */
const LOOK_BACK_MS = [MINUTE_MS, 60 * MINUTE_MS, 24 * 60 * MINUTE_MS, 30 * 24 * 60 * MINUTE_MS];

/**
 * Reads a value of each change clock: a stamp that a diff shows. Stamps are assigned in commit order, so
 * all changes with this stamp or an earlier one are committed. Null: nothing has a stamp.
 */
async function readClocks(ask: Ask, network: string): Promise<Record<string, string | null>> {
  const clocks: Record<string, string | null> = {};
  for (const [clock, diffs] of Object.entries(CLOCKS)) {
    clocks[clock] = null;
    for (const back of [...LOOK_BACK_MS, Number.POSITIVE_INFINITY]) {
      const since = new Date(back === Number.POSITIVE_INFINITY ? 0 : Date.now() - back);
      for (const diff of diffs) {
        const stamp = await readStamp(ask, diff, network, since.toISOString());
        if (stamp !== null && stamp > (clocks[clock] ?? "")) clocks[clock] = stamp;
      }
      if (clocks[clock] !== null) break;
    }
  }
  return clocks;
}

/** A stamp at or after a time; null: there is none. */
async function readStamp(
  ask: Ask,
  { path, list, isPost }: { path: string; list: string; isPost?: true },
  network: string,
  since: string,
): Promise<string | null> {
  const data = isPost
    ? await ask("POST", path, { network, limit: 50, statusUpdatedAfter: since })
    : await ask("GET", path, { network, limit: 100, lastUpdate: since });
  const last = (data[list] as ApiRecord[]).at(-1);
  const name = STAMPS.find((one) => last?.[one] !== undefined);
  return last && name ? (last[name] as string) : null;
}

/** @throws Error for an unknown wallet */
async function findWallet(
  ask: Ask,
  id: string,
  isLedger: boolean,
): Promise<NonNullable<Selection["wallet"]>> {
  const path = isLedger ? "/api/v1/wallet/list" : "/api/v1/x402/wallets";
  const [wallet] = (await ask("GET", path, { id })).Wallets as ApiRecord[];
  if (!wallet) throw new Error(`--wallet: the network has no wallet ${id}`);
  return { id, vkey: isLedger ? String(wallet.walletVkey) : null };
}

/** Whether a selection can have records of a kind. */
function hasRecords(kind: RecordKind, { network, wallet, keyId }: Selection): boolean {
  const isOfNetwork = kind.of === "every" || (kind.of === "chain") === network.includes(":");
  return (
    isOfNetwork &&
    (wallet === null || kind.isOfWallet !== undefined) &&
    (keyId === null || kind.isOfKey !== undefined)
  );
}

function isSelected(
  kind: RecordKind,
  record: ApiRecord,
  { network, wallet, keyId }: Selection,
  found: FoundIds,
): boolean {
  return (
    (wallet === null || kind.isOfWallet?.(record, wallet) === true) &&
    (keyId === null || kind.isOfKey?.(record, keyId, found) === true) &&
    // A wallet's rules name their wallet, so the list of wallets need not be read for them.
    (wallet !== null || (kind.isOfNetwork?.(record, network, found) ?? true))
  );
}

/** The records of a list, page after page. */
async function* listRecords(
  ask: Ask,
  kind: RecordKind,
  selection: Selection,
  found: FoundIds,
  pageSize = Number.POSITIVE_INFINITY,
): AsyncGenerator<ApiRecord> {
  const [limitName, max] = kind.limit ?? ["limit", 100];
  const limit = Math.min(max, pageSize);
  for (const query of kind.queries?.(selection, found) ?? [{}]) {
    let after: Fields = {};
    for (;;) {
      const page = kind.isWhole ? {} : { [limitName]: limit };
      const data = await ask(kind.isPost ? "POST" : "GET", kind.path, {
        ...{ ...query, ...page, ...after },
      });
      const records = data[kind.list] as ApiRecord[];
      yield* records;
      const last = records.at(-1);
      if (kind.isWhole || !last) break;
      after = kind.after?.(last) ?? { cursorId: last.id };
    }
  }
}
