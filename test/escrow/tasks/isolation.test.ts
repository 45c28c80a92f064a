import { beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import {
  PaymentSourceFixture,
  type ShownEscrow,
  storedRecords,
} from "../../support/escrow/payment-source-fixture.ts";

beforeEach(emptyTables);

const HOUR = 60 * 60_000;
const PLENTY = [500_000_000, 500_000_000];
/** A unit that no transaction can carry, as a record from before the API refused it has it. */
const UNREADABLE = [{ unit: "ada", amount: "5000000" }];

const later = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString();
/** Of a purchase that can be locked in the hours after the first one's refund is due. */
const OPEN = { payByTime: later(6), submitResultTime: later(8) };

/** A source with a locked escrow whose refund is due. */
async function openWithRefund(buyers: Record<string, number[]>): Promise<PaymentSourceFixture> {
  const buying = await PaymentSourceFixture.open("Web3ChainV2", buyers);
  buying.fixture.bindings = { CHAIN_CLOCK: "tip" };
  await buying.buy();
  for (const name of Object.keys(buyers)) await buying.work(name);
  await buying.sync();
  await buying.chain.advance(3 * HOUR);
  await buying.chain.mine();
  await buying.sync();
  return buying;
}

const actionsOf = (records: readonly ShownEscrow[]) =>
  records.map(({ NextAction }) => NextAction.requestedAction).toSorted();

async function failuresOf(id: string) {
  const record = (await storedRecords("purchase")).find((one) => one.id === id);
  const { failures = 0, tryAt = 0 } = record?.progress.intent ?? {};
  return { failures, tryAt };
}

describe("a purchase whose unit cannot be read", () => {
  it.each([
    ["one wallet", { "buyer-0": PLENTY }],
    ["two wallets", { "buyer-0": PLENTY, "buyer-1": PLENTY }],
  ] as const)("fails alone, and stops no lock and no refund of %s", async (_, buyers) => {
    const buying = await openWithRefund({ ...buyers } as Record<string, number[]>);
    await buying.buy(OPEN);
    const odd = await buying.buy(OPEN, { funds: UNREADABLE });
    await buying.buy(OPEN);
    const logged = vi.spyOn(console, "error");
    for (const name of Object.keys(buyers)) await buying.work(name);
    const shown = await buying.shown("purchase");
    expect(actionsOf(shown)).toEqual([
      "FundsLockingInitiated",
      "FundsLockingInitiated",
      "FundsLockingRequested",
      "WithdrawRefundInitiated",
    ]);
    const failed = shown.find(({ id }) => id === odd.id)?.NextAction;
    expect(failed).toMatchObject({ errorType: "Unknown" });
    expect(failed?.errorNote).toMatch(/^An internal error stopped this task\. /);
    expect(failed?.errorNote).not.toMatch(/hex|RangeError|string/);
    const lines = logged.mock.calls.map(([line]) => JSON.parse(`${line}`));
    expect(lines).toContainEqual(
      expect.objectContaining({
        event: "wallet.task_failed",
        requestId: "test",
        error: expect.stringContaining("is no unit of the ledger"),
      }),
    );
    logged.mockRestore();
  });

  it("waits longer after each try, and never ends the others' runs", async () => {
    const buying = await openWithRefund({ "buyer-0": PLENTY, "buyer-1": PLENTY });
    const odd = await buying.buy(OPEN, { funds: UNREADABLE });
    const pauses: number[] = [];
    for (let tries = 1; tries <= 4; tries++) {
      await buying.fixture.skipPauses();
      const began = Date.now();
      await buying.work();
      const { failures, tryAt } = await failuresOf(odd.id);
      expect(failures).toBe(tries);
      pauses.push(tryAt - began);
    }
    expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
    expect(pauses.at(-1)).toBeGreaterThan(2 * (pauses[0] ?? 0));
  });
});
