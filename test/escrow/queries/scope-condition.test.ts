import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import type { EscrowRecord } from "../../../src/escrow/model/escrow-record.ts";
import {
  type DiffPage,
  readDiffPage,
  type StampColumn,
} from "../../../src/escrow/queries/diff-page.ts";
import { readListPage } from "../../../src/escrow/queries/list-page.ts";
import type { Viewer } from "../../../src/escrow/queries/page-rows.ts";
import { call, emptyTables } from "../../support/app.ts";
import { countingD1 } from "../../support/d1.ts";
import { runs } from "../../support/effort.ts";
import { insertKey } from "../../support/keys.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";

const DIFFS = [
  ["onchain-state-or-result", "onChainStateOrResultLastChangedAt"],
  ["next-action", "nextActionLastChangedAt"],
  ["", "nextActionOrOnChainStateOrResultLastChangedAt"],
] as const;
const STAMPS: StampColumn[] = ["chain_changed_at", "action_changed_at", "changed_at"];
const OURS = ["wallet-b", "wallet-c"];

beforeEach(emptyTables);

/** Of a wallet, or as long as none was chosen of those that may; of which type is as with wallets. */
function purchaseOf(wallets: string[], isChosen: boolean): EscrowRecord {
  const record = makeRecord("purchase", {
    sourceType: wallets[0] === "wallet-c" ? "Web3ChainV2" : "Web3ChainV1",
  });
  const [id = ""] = wallets;
  record.wallet = isChosen ? { id, vkey: "22".repeat(28), address: "addr_test1buyer" } : null;
  if (!isChosen) record.terms = { ...record.terms, walletIds: wallets };
  return record;
}

const isShown = ({ wallet, terms }: EscrowRecord) =>
  (wallet ? [wallet.id] : (terms.walletIds ?? [])).every((id) => OURS.includes(id));

async function write(writer: Writer, records: EscrowRecord[]): Promise<void> {
  for (let i = 0; i < records.length; i += 200) await writer.change(records.slice(i, i + 200));
}

async function itemsOf(path: string, token: string): Promise<Record<string, string>[]> {
  const answer = await call(`/api/v1/purchase${path}`, { headers: { token } });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { data: { Purchases: Record<string, string>[] } }).data
    .Purchases;
}

describe("a key that is bound to wallets", () => {
  const one = fc
    .tuple(fc.subarray(["wallet-b", "wallet-c", "wallet-x"], { minLength: 1 }), fc.boolean())
    .map(([wallets, isChosen]) => ({ wallets, isChosen }));

  it("GET /purchase and its diffs show all that is of them, in order, and nothing else", async () => {
    const property = fc.asyncProperty(
      fc.array(one, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 2, max: 20 }),
      async (drawn, limit) => {
        await emptyTables();
        const records = drawn.map(({ wallets, isChosen }) => purchaseOf(wallets, isChosen));
        await write(await Writer.create(env.DB), records);
        const wanted = records.filter(isShown).map(({ id }) => id);
        const token = await insertKey({ walletLimit: OURS });
        const asked = `network=Preprod&limit=${limit}`;

        const listed: string[] = [];
        for (let more = true; more; ) {
          const after = listed.length > 0 ? `&cursorId=${listed.at(-1)}` : "";
          const items = await itemsOf(`?${asked}${after}`, token);
          listed.push(...items.map(({ id = "" }) => id));
          more = items.length > 0;
        }
        expect(listed).toEqual(wanted.toSorted().reverse());

        for (const [diff, stamp] of DIFFS) {
          const seen = new Map<string, string>();
          let after = "";
          for (let more = true; more; ) {
            const items = await itemsOf(`/diff/${diff}?${asked}${after}`.replace("/?", "?"), token);
            more = items.some(({ id = "" }) => !seen.has(id));
            for (const { id = "", [stamp]: at = "" } of items) seen.set(id, at);
            const [id, at] = [...seen].at(-1) ?? [];
            after = id === undefined ? "" : `&cursorId=${id}&lastUpdate=${at}`;
          }
          expect([...seen.keys()].toSorted(), diff).toEqual(wanted.toSorted());
          expect([...seen.values()], diff).toEqual([...seen.values()].toSorted());
        }
      },
    );
    await fc.assert(property, runs(5, 100));
  });

  it("reads as many rows for a page however many records there are", async () => {
    const scope = { walletIds: OURS, isSpendingLimited: false, returnAddresses: [] };
    const viewer: Viewer = { id: "key-a", permission: "User", scope };
    const readings = async () => {
      const read: number[] = [];
      const of = async (page: (d1: D1Database) => Promise<string | DiffPage>, isEmpty = false) => {
        const { d1, rowsRead } = countingD1(env.DB);
        const text = await page(d1);
        expect((typeof text === "string" ? text : text.records) === "").toBe(isEmpty);
        read.push(rowsRead());
      };
      const query = { network: "Preprod", limit: 10, includeHistory: false, viewer, env } as const;
      for (const stamp of STAMPS)
        await of((d1) =>
          readDiffPage(openDb({ DB: d1 }), "purchase", stamp, { ...query, lastUpdate: 0 }),
        );
      for (const filter of [{}, { filterOnChainState: "ResultSubmitted" as const }])
        await of((d1) => readListPage(openDb({ DB: d1 }), "purchase", { ...query, ...filter }));
      // These wallets have none.
      await of((d1) => readListPage(openDb({ DB: d1 }), "payment", query), true);
      for (const stamp of STAMPS)
        await of(
          (d1) => readDiffPage(openDb({ DB: d1 }), "payment", stamp, { ...query, lastUpdate: 0 }),
          true,
        );
      return read;
    };
    const others = (count: number) =>
      Array.from({ length: count }, (_, i) => purchaseOf(["wallet-x"], i % 20 > 0));
    const ours = (count: number) =>
      OURS.flatMap((id) => Array.from({ length: count }, () => purchaseOf([id], true)));

    const writer = await Writer.create(env.DB);
    await write(writer, [...others(200), ...ours(15), ...others(200)]);
    const few = await readings();
    await write(writer, [...ours(100), ...others(800).filter(({ wallet }) => wallet !== null)]);
    expect(await readings()).toEqual(few);
  });
});
