import { beforeEach, describe, expect, it } from "vitest";
import { computeNextEpochStart, slotAt } from "../../src/chain/slots.ts";
import { emptyTables } from "../support/app.ts";
import { RegistrationFixture } from "../support/registry/registration-fixture.ts";

const DAY_MS = 24 * 60 * 60_000;

beforeEach(emptyTables);

/** Registers an agent on a chain that stands, and tells until when the transaction was valid. */
async function registered(begins: number, chainClock: string) {
  const fixture = await RegistrationFixture.open({ time: { begins, clock: "stands" } });
  fixture.bindings = { CHAIN_CLOCK: chainClock };
  const { id } = (await fixture.register()).data;
  await fixture.settle();
  const shown = await fixture.shown(id);
  expect(shown).toMatchObject({ state: "RegistrationConfirmed" });
  const tx = await fixture.chain.get<{ invalid_before: string; invalid_hereafter: string }>(
    `/txs/${shown.CurrentTransaction?.txHash}`,
  );
  return { from: Number(tx.invalid_before), to: Number(tx.invalid_hereafter) };
}

describe("CHAIN_CLOCK", () => {
  it.each([
    ["two days ago", -2 * DAY_MS],
    ["in two days", 2 * DAY_MS],
  ])(
    "tip: a transaction on a chain that stands %s is valid around its tip alone",
    async (_, away) => {
      const begins = Date.now() + away;
      const { from, to } = await registered(begins, "tip");
      const tip = slotAt("Preprod", begins);
      // No transaction is valid in two epochs, of which one may end now.
      const last = Math.min(tip + 330, computeNextEpochStart("Preprod", tip));
      expect([from, to]).toEqual([tip - 300, last]);
    },
  );

  it("unset: it is valid by the tip and by the wall clock", async () => {
    const now = Date.now();
    const { from, to } = await registered(now - 2 * DAY_MS, "");
    expect(from).toBe(slotAt("Preprod", now - 2 * DAY_MS) - 300);
    expect(to).toBeGreaterThanOrEqual(slotAt("Preprod", now));
  });
});
