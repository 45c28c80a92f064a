import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { ON_CHAIN_STATES } from "../../../src/chain/network.ts";
import { openDb } from "../../../src/db/client.ts";
import { computeDueAt } from "../../../src/escrow/model/compute-due-at.ts";
import type { ChainState, EscrowRecord, Side } from "../../../src/escrow/model/escrow-record.ts";
import { findNextStep } from "../../../src/escrow/model/find-next-step.ts";
import { type Progress, STEPS, type Step } from "../../../src/escrow/model/intent.ts";
import { NOT_WORTH_WITHDRAWING_NOTE } from "../../../src/escrow/model/is-worth-withdrawing.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { renderRecord } from "../../../src/escrow/store/render-record.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { app, emptyTables } from "../../support/app.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";

const PAY_BY = 1_800_000_000_000;
const SUBMIT = 1_800_003_600_000;
const UNLOCK = 1_800_025_200_000;
const DISPUTE = 1_800_046_800_000;

function recordIn(
  side: Side,
  state: Partial<ChainState>,
  progress: Partial<Progress> = {},
): EscrowRecord {
  const record = makeRecord(side);
  return {
    ...record,
    state: { ...record.state, ...state },
    progress: { ...record.progress, ...progress },
  };
}

const intent = (step: Step) => ({ id: "w", step, resultHash: null, by: "key-a", since: 5 });

describe("Next", () => {
  it.each<[string, EscrowRecord, object]>([
    [
      "of a quote is the buyer's lock, until pay-by",
      recordIn("payment", {}),
      { step: null, deadline: PAY_BY, waitsFor: "the buyer's lock" },
    ],
    [
      "of a purchase is its lock, until pay-by",
      recordIn("purchase", {}, { intent: intent("FundsLocking") }),
      { step: "FundsLocking", notBefore: null, deadline: PAY_BY, isOurTurn: true },
    ],
    [
      "of locked funds is the result, and without one the refund",
      recordIn("payment", { onChainState: "FundsLocked" }),
      { step: null, deadline: SUBMIT, waitsFor: "the seller's result" },
    ],
    [
      "of a refund that a seller has agreed to is its collection, unless a result comes",
      recordIn("payment", { onChainState: "RefundRequested" }),
      {
        step: null,
        notBefore: SUBMIT,
        deadline: null,
        waitsFor: expect.stringMatching(/refund/),
      },
    ],
    [
      "of a buyer whose funds are locked is the refund once no result can come",
      recordIn("purchase", { onChainState: "FundsLocked" }),
      { step: "WithdrawRefund", notBefore: SUBMIT, deadline: null, waitsFor: null },
    ],
    [
      "of a seller with a result is the withdrawal from the unlock time on",
      recordIn("payment", { onChainState: "ResultSubmitted", resultHash: "ab" }),
      { step: "Withdraw", notBefore: UNLOCK, deadline: null, waitsFor: null, isOurTurn: true },
    ],
    [
      "of a dispute may be its settlement",
      recordIn("purchase", { onChainState: "Disputed", resultHash: "ab" }),
      { step: null, notBefore: DISPUTE },
    ],
    [
      "of an end is nothing",
      recordIn("payment", { onChainState: "Withdrawn" }),
      { step: null, notBefore: null, deadline: null, waitsFor: null },
    ],
    [
      "of what expired is nothing",
      recordIn("payment", {}, { expiredAt: 1 }),
      { step: null, notBefore: null, deadline: null, waitsFor: null },
    ],
    [
      "of a step that failed is the same again after a pause",
      recordIn(
        "payment",
        { onChainState: "FundsLocked" },
        {
          intent: { ...intent("SubmitResult"), tryAt: 77 },
          error: { isManual: false, type: "Unknown", note: "too poor", txHash: null },
        },
      ),
      { step: "SubmitResult", notBefore: 77, deadline: SUBMIT, waitsFor: "too poor" },
    ],
    [
      "of a step whose deadline has passed is what blocks show of it",
      recordIn(
        "payment",
        { onChainState: "FundsLocked" },
        { intent: { ...intent("SubmitResult"), tryAt: SUBMIT + 120_000 } },
      ),
      { notBefore: null, deadline: SUBMIT, waitsFor: expect.stringMatching(/^blocks/) },
    ],
    [
      "of a withdrawal that is not worth it is a request",
      recordIn(
        "payment",
        { onChainState: "ResultSubmitted", resultHash: "ab" },
        {
          error: {
            isManual: false,
            type: "Unknown",
            note: NOT_WORTH_WITHDRAWING_NOTE,
            txHash: null,
          },
        },
      ),
      { step: "Withdraw", waitsFor: expect.stringMatching(/^a request/), isOurTurn: false },
    ],
    [
      "of a step that its state does not allow waits for the state, as long as that is of use",
      recordIn("payment", {}, { intent: intent("SubmitResult") }),
      { step: "SubmitResult", deadline: DISPUTE, isOurTurn: false },
    ],
    [
      "of an error that a person must look at is that person",
      recordIn(
        "payment",
        { onChainState: "FundsLocked" },
        { error: { isManual: true, type: "Unknown", note: "lost", txHash: null } },
      ),
      { step: null, waitsFor: "a person's decision" },
    ],
  ])("%s", (_, record, expected) => {
    expect(findNextStep(record)).toMatchObject(expected);
  });
});

it("Next has a place for what holds up a wallet only in records that are due, so that others need not look", () => {
  const errors = [null, { isManual: false }, { isManual: true }].map(
    (error) => error && { type: "Unknown" as const, note: "so", txHash: null, ...error },
  );
  for (const side of ["payment", "purchase"] as const)
    for (const onChainState of [null, ...ON_CHAIN_STATES])
      for (const resultHash of ["", "ab"])
        for (const step of [null, ...STEPS])
          for (const error of errors) {
            const progress = { intent: step && intent(step), error };
            const record = recordIn(side, { onChainState, resultHash }, progress);
            if (findNextStep(record).isOurTurn) expect(computeDueAt(record)).not.toBeNull();
          }
});

it("Next of a lock that names a time of no calendar is rendered without it", () => {
  const record = recordIn("payment", { onChainState: "FundsLocked" });
  const terms = { ...record.terms, submitResultTime: String(2n ** 63n) };
  expect(renderRecord({ ...record, terms })).toContain(
    '"Next":{"action":null,"notBefore":null,"deadline":null',
  );
});

describe("GET /purchase", () => {
  beforeEach(emptyTables);

  it("says what holds up the wallet or the source that a purchase waits for", async () => {
    await Writer.create(env.DB);
    const wallet = { id: "wallet-b", vkey: "33".repeat(28), address: "addr_test1buyer" };
    const progress = {
      intent: intent("FundsLocking"),
      pendingTransaction: null,
      error: null,
      expiredAt: null,
    };
    const changes = new ChangeSet([], Date.now(), 0);
    const record = makeRecord("purchase", { wallet });
    changes.setProgress(record, progress);
    await openDb(env).batch(writeChanges(changes, record));
    const shown = async () => {
      const answer = await app.request(
        "/api/v1/purchase?network=Preprod",
        { headers: { token: env.ADMIN_KEY ?? "" } },
        env,
      );
      const { data } = (await answer.json()) as { data: { Purchases: { Next: object }[] } };
      return data.Purchases[0]?.Next;
    };
    const next = { action: "FundsLocking", deadline: new Date(PAY_BY).toISOString() };
    expect(await shown()).toEqual({ ...next, notBefore: null, waitsFor: null, code: null });
    const run = (sql: string) => env.DB.prepare(sql).run();
    await run("UPDATE source_cursor SET error = 'secret words of a provider'");
    expect(await shown()).toMatchObject({
      waitsFor: "waits for the chain provider of its payment source",
      code: "provider",
    });
    await run(
      `INSERT INTO hot_wallet (network, vkey, version, sequence, blocker, blocker_code, blocked_since)
       VALUES ('Preprod', '${wallet.vkey}', 1, 0, 'waits for the line', 'chain', 1)`,
    );
    expect(await shown()).toMatchObject({ ...next, waitsFor: "waits for the line", code: "chain" });
  });

  it.each([
    ["payment", "AUTO_WITHDRAW_PAYMENTS", "autoWithdrawPayments", "Withdraw"],
    ["purchase", "AUTO_WITHDRAW_REFUNDS", "autoWithdrawRefunds", "WithdrawRefund"],
  ] as const)(
    "says of a %s that somebody has to ask for what %s, or its payment source's %s, turns off",
    async (side, variable, field, action) => {
      await Writer.create(env.DB);
      const changes = new ChangeSet([], Date.now(), 0);
      const onChainState = side === "payment" ? "ResultSubmitted" : "RefundRequested";
      const record = recordIn(side, { onChainState });
      changes.setProgress(record, record.progress);
      await openDb(env).batch(writeChanges(changes, record));
      const shown = async (settings: object) => {
        const answer = await app.request(
          `/api/v1/${side}?network=Preprod`,
          { headers: { token: env.ADMIN_KEY ?? "" } },
          { ...env, ...settings },
        );
        const { data } = (await answer.json()) as { data: Record<string, { Next: object }[]> };
        return Object.values(data)[0]?.[0]?.Next;
      };
      expect(await shown({})).toMatchObject({ action, waitsFor: null });
      const waitsFor = `a request, since ${variable} is off`;
      const isOff = { action, waitsFor, code: "person" };
      expect(await shown({ [variable]: "false" })).toMatchObject(isOff);
      const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const ofSource = async (isOn: number) => {
        await env.DB.prepare(
          `INSERT INTO payment_source (id, network, type, contract_address, policy_id, admin_wallets,
             fee_rate_permille, cooldown_time, rpc_provider, rpc_provider_api_key, drives,
             created_by_id, created_at, updated_at, ${column})
           VALUES (?, 'Preprod', ?, '', '', '[]', 50, 0, 'Blockfrost', '', 'all', '', 0, 0, ?)
           ON CONFLICT DO UPDATE SET ${column} = excluded.${column}`,
        )
          .bind(record.sourceId, record.sourceType, isOn)
          .run();
      };
      await ofSource(1);
      expect(await shown({ [variable]: "false" })).toMatchObject({ action, waitsFor: null });
      await ofSource(0);
      const off = `a request, since ${field} of its payment source is off`;
      expect(await shown({})).toMatchObject({ action, waitsFor: off });
    },
  );
});
