import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { moveFinalRecords } from "../../src/archive/move-records.ts";
import { MOVED_ESCROWS } from "../../src/escrow/store/archived-escrows.ts";
import { ask, BUYER_VKEY, IN_MONTH, MONTH, pay, send } from "../invoices/support.ts";
import { emptyTables } from "../support/app.ts";
import { ARCHIVES, emptyArchives, makeFinal } from "../support/archives.ts";

const WITH_ARCHIVES = { env: ARCHIVES };

beforeEach(async () => {
  await emptyTables();
  await emptyArchives();
});

async function moveAll(): Promise<void> {
  await makeFinal();
  const mover = { ...env, ...ARCHIVES, ARCHIVE_AFTER_MINUTES: "0" };
  await moveFinalRecords(mover, [MOVED_ESCROWS], Date.now() + 1_000, Date.now() + 60_000);
}

const listMissing = async (options: object) => {
  const path = `monthly/missing?network=Preprod&month=${MONTH}&buyerWalletVkey=${BUYER_VKEY}`;
  const { data } = await send("GET", path, undefined, options);
  return (data.UninvoicedPayments as { id: string }[]).map(({ id }) => id).toSorted();
};

const countPayments = async (options: object) => {
  const path = `monthly?network=Preprod&month=${MONTH}`;
  const { data } = await send("GET", path, undefined, options);
  return (data.Invoices as { CoveredPayments: unknown[] }[]).map(
    ({ CoveredPayments }) => CoveredPayments.length,
  );
};

it("An invoice covers the payments of archives, and is the same once its payments are there", async () => {
  const ended = { state: "Withdrawn", blockTime: IN_MONTH } as const;
  const earlier = { ...ended, blockTime: IN_MONTH - 40 * 86_400 };
  const ids = await pay(ended, ended, ended, earlier);
  const ofMonth = ids.slice(0, 3).toSorted();
  expect(await listMissing(WITH_ARCHIVES)).toEqual(ofMonth);
  await moveAll();
  expect(await listMissing(WITH_ARCHIVES)).toEqual(ofMonth);

  const first = await ask({}, WITH_ARCHIVES);
  expect(first.status).toBe(200);
  expect(await countPayments(WITH_ARCHIVES)).toEqual([3]);
  expect(await listMissing(WITH_ARCHIVES)).toEqual([]);
  const again = await ask({}, WITH_ARCHIVES);
  expect(again.data.invoice).toBe(first.data.invoice);

  await pay(ended, ended);
  const revised = await ask({}, WITH_ARCHIVES);
  expect(revised.data.cancellationInvoice).toBeDefined();
  expect(await countPayments(WITH_ARCHIVES)).toEqual([5]);
  await moveAll();
  const moved = await ask({}, WITH_ARCHIVES);
  expect(moved.data.invoice).toBe(revised.data.invoice);
  expect(await countPayments(WITH_ARCHIVES)).toEqual([5]);
});
