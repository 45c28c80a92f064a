/** What the other party may put on the chain, where no contract stops it, and what can still be done then. */
import { beforeEach, describe, expect, it } from "vitest";
import { publishNeeded } from "../../../src/payment-sources/reference-script/automatic.ts";
import { emptyTables } from "../../support/app.ts";
import { BuyDesk } from "../../support/escrow/buying.ts";
import type { Shown } from "../../support/escrow/quoting.ts";
import { RESULT } from "../../support/escrow/stepping.ts";

beforeEach(emptyTables);

const MINUTE = 60_000;
/** Tokens that a transaction has room to mint, and how often, for a hundred. */
const MINTED_AT_ONCE = 20;
const MINTS = 5;
/** The stranger to the service, who has nothing good in mind. */
const HOSTILE = "admin";
const NEVER = String(2n ** 70n);
/** As many bytes as a transaction without the script has room for: all its 16 KB, but for the rest of it. */
const FULL = 14_200;
/** Rounds of the wallets until everything is where it gets: the first tells what is missing. */
const ROUNDS = 4;

/** How a hostile party leaves an escrow, what is then asked of ours, and where that leads. */
interface Row {
  lock?: object;
  move?: object;
  ask: "payment/submit-result" | "purchase/request-refund";
  leadsTo: string;
}

/** Native minor units that hold as large an escrow. */
const RICH = "100000000";
const byItsSeller = {
  lock: { seller: HOSTILE, funds: [{ unit: "", amount: RICH }] },
  ask: "purchase/request-refund",
} as const;
const byItsBuyer = { ask: "payment/submit-result" } as const;
const disputed = { leadsTo: "Disputed" };

/** @param units - a hundred tokens that nobody else knows */
const rowsOf = (units: readonly string[]): Record<string, Row> => ({
  "a result of 6 KB": {
    ...byItsSeller,
    ...disputed,
    move: { do: "submitResult", resultHash: "ab".repeat(6_000), isScriptRead: true },
  },
  "a result of 16 KB": {
    ...byItsSeller,
    ...disputed,
    move: { do: "submitResult", resultHash: "ab".repeat(FULL), isScriptRead: true },
  },
  "a seller's cooldown of 2^70": {
    ...byItsSeller,
    ...disputed,
    move: { do: "submitResult", datum: { sellerCooldownTime: NEVER } },
  },
  "a buyer's cooldown of 2^70": {
    ...byItsBuyer,
    ...disputed,
    lock: { buyer: HOSTILE },
    move: { do: "requestRefund", datum: { buyerCooldownTime: NEVER } },
  },
  "a hundred tokens that nobody knows": {
    ...byItsBuyer,
    lock: {
      buyer: HOSTILE,
      funds: [{ unit: "", amount: "30000000" }, ...units.map((unit) => ({ unit, amount: "1" }))],
    },
    leadsTo: "ResultSubmitted",
  },
  "no more than the ledger wants to hold it": {
    ...byItsBuyer,
    lock: { buyer: HOSTILE, funds: [{ unit: "", amount: "4400000" }] },
    leadsTo: "ResultSubmitted",
  },
});

describe.each(["Web3ChainV1", "Web3ChainV2"] as const)("an escrow of %s", (version) => {
  it("that a hostile party has made large, poor or slow can be moved by the other one, who is told at once what that takes", async () => {
    const buying = await BuyDesk.open(version);
    const { chain, desk } = buying;
    const mint = {
      ...{ do: "mintAll", version: "Web3ChainV1", rules: "open", holder: HOSTILE },
      tokens: Array.from({ length: MINTED_AT_ONCE }, () => ({})),
    };
    const minted = await chain.act(Array.from({ length: MINTS }, () => mint));
    const rows = Object.entries(rowsOf(minted.flatMap(({ units }) => units ?? [])));
    const identifiers = new Map<string, string>();
    for (const [name, { lock, move }] of rows) {
      const [locked] = await chain.act([{ do: "lock", as: name, version, ...lock }]);
      identifiers.set(name, locked?.escrows[0]?.identifier ?? "");
      if (move) await chain.act([{ ...move, on: name }]);
    }
    await buying.sync();

    for (const [name, { ask }] of rows) {
      const { status, message, data } = await desk.ask<Shown>("POST", `/${ask}`, {
        ...{ network: "Preprod", blockchainIdentifier: identifiers.get(name) },
        ...(ask === "payment/submit-result" && { submitResultHash: RESULT }),
      });
      expect([name, status, message]).toEqual([name, 200, ""]);
      if (name === "a result of 16 KB")
        expect(data.Warnings).toEqual([
          expect.stringMatching(/^request-refund: the escrow is so large .* script on the chain/),
        ]);
      if (name === "a seller's cooldown of 2^70") expect(data.Warnings).toEqual([]);
    }
    /** Of each row that has not got where it leads yet, what its record says is missing. */
    const missing = async () => {
      const sides = {
        payment: await buying.shown("payment"),
        purchase: await buying.shown("purchase"),
      };
      return rows.flatMap(([name, { ask, leadsTo }]) => {
        const side = ask === "payment/submit-result" ? "payment" : "purchase";
        const found = sides[side].find((one) => one.blockchainIdentifier === identifiers.get(name));
        return found?.onChainState === leadsTo ? [] : [[name, found?.NextAction.errorNote ?? null]];
      });
    };
    const told: unknown[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await desk.skipPauses();
      await desk.work();
      await buying.work();
      await buying.sync();
      told.push(await missing());
      await publishNeeded(desk.env(), "test", Date.now() + MINUTE);
    }
    // All but the largest are moved at once; that one says what it takes, which comes by itself.
    expect(told[0]).toEqual([
      ["a result of 16 KB", expect.stringMatching(/ bytes, at most 16384 .*reference-script/)],
    ]);
    expect(told.at(-1)).toEqual([]);
  });
});
