import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import { listDueSteps } from "../../../src/escrow/tasks/due-records.ts";
import { emptyTables } from "../../support/app.ts";
import { StepFixture } from "../../support/escrow/step-fixture.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Records that a wallet considers at once. */
const MOST = 60;

beforeEach(emptyTables);

/** A locked payment, and its id. */
async function locked() {
  const fixture = await StepFixture.open("Web3ChainV1");
  const { id } = await fixture.buying.only("payment");
  return { fixture, id };
}

type Changes = Readonly<Record<string, string | number | null>>;

/** Puts so many copies of a payment of one coin beside it, with some columns changed. */
async function copies(id: string, count: number, columns: Changes): Promise<void> {
  const { results } = await env.DB.prepare("SELECT name FROM pragma_table_info('escrow')").all<{
    name: string;
  }>();
  const names = results.map(({ name }) => name);
  for (let i = 0; i < count; i++) {
    const utxo = `copy#${i}`;
    const own: Changes = { id: `copy-${i}`, identifier_hash: `copy-${i}`, utxo };
    const changed: Changes = { ...columns, ...own };
    const values = names.map((name) => (name in changed ? "?" : name));
    await env.DB.prepare(
      `INSERT INTO escrow (${names.join()}) SELECT ${values.join()} FROM escrow WHERE id = ?`,
    )
      .bind(...names.flatMap((name) => (name in changed ? [changed[name] ?? null] : [])), id)
      .run();
    const value = JSON.stringify([{ unit: "", amount: "1000000" }]);
    await env.DB.prepare(
      `INSERT INTO escrow_open (id, network, revision, doc_version, doc, output)
       SELECT ?, network, revision, doc_version, doc,
         json_set(output, '$.value', json(?), '$.utxo', ?) FROM escrow_open WHERE id = ?`,
    )
      .bind(own.id, value, utxo, id)
      .run();
  }
}

/** Columns of a payment whose result is there and whose unlock time is over. */
const UNLOCKED: Changes = {
  on_chain_state: "ResultSubmitted",
  result_hash: "ab",
  unlock_time: "1000",
  due_at: 1_000,
};

it(`${MOST} withdrawals that are not worth it keep no result from being submitted`, async () => {
  const { fixture, id } = await locked();
  await copies(id, MOST, UNLOCKED);
  await fixture.buying.fixture.work();
  expect((await fixture.ask("submit-result")).status).toBe(200);
  await fixture.buying.fixture.work();
  await fixture.buying.sync();
  const payments = await fixture.buying.shown("payment");
  expect(payments.filter((one) => one.id === id)).toMatchObject([
    { onChainState: "ResultSubmitted" },
  ]);
  const waiting = await env.DB.prepare(
    "SELECT count(*) AS n FROM escrow WHERE id GLOB 'copy-*' AND due_at IS NOT NULL",
  ).first<number>("n");
  expect(waiting).toBe(0);
});

describe("of more than are considered at once, a wallet considers", () => {
  /** The ids of so many that it would consider first. */
  async function first(fixture: StepFixture, count: number): Promise<string[]> {
    const { sellers, sourceId } = fixture.buying.fixture;
    const now = Date.now();
    const times = { now, latest: now, urgentBefore: now + 10 * MINUTE };
    const wallet = { network: "Preprod", vkey: sellers[0].vkey, sourceId } as const;
    const all = { payments: true, refunds: true };
    const found = await listDueSteps(openDb(env), wallet, times, count, all);
    return found.map((one) => one.id);
  }

  async function withWithdrawals(intent: object | null, submitTime: number) {
    const { fixture, id } = await locked();
    await copies(id, MOST, { ...UNLOCKED, intent: intent && JSON.stringify(intent) });
    await fixture.ask("submit-result");
    await env.DB.prepare("UPDATE escrow SET submit_result_time = ? WHERE id = ?")
      .bind(`${submitTime}`, id)
      .run();
    return { fixture, id };
  }

  const anHourOld = { id: "w", step: "Withdraw", by: "automatic", since: Date.now() - HOUR };

  it("a result with five minutes left before withdrawals that have waited for an hour", async () => {
    const { fixture, id } = await withWithdrawals(anHourOld, Date.now() + 5 * MINUTE);
    expect(await first(fixture, 1)).toEqual([id]);
  });

  it("withdrawals that have waited for an hour before a result with hours left", async () => {
    const { fixture, id } = await withWithdrawals(anHourOld, Date.now() + 5 * HOUR);
    expect(await first(fixture, MOST)).not.toContain(id);
    expect(await first(fixture, MOST + 1)).toContain(id);
  });

  it("a result with hours left before what comes by itself and is not decided yet", async () => {
    const { fixture, id } = await withWithdrawals(null, Date.now() + 5 * HOUR);
    expect(await first(fixture, 1)).toEqual([id]);
  });
});
