/** The escrow contracts against a table of their rules, on random escrows and transactions. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Rule } from "../../../devnet/contracts/rules.ts";
import { WALLETS } from "../../../devnet/demo/actors/wallets.ts";
import {
  DATUM_STATES,
  type DatumState,
  type EscrowDatum,
} from "../../../src/chain/contracts/escrow-datum.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { runs } from "../../support/effort.ts";
import { verdictBy, verdictOn } from "./cases.ts";
import { holds, next, plus } from "./changes.ts";
import { draft, move, nextDatum, OPERATOR_ACTIONS, type OperatorAction } from "./drafts.ts";
import {
  BUYER,
  DISPUTE,
  deploymentOf,
  lockAll,
  type Order,
  SELLER,
  STRANGER,
  SUBMIT_BY,
  timeAt,
  UNLOCK,
} from "./escrows.ts";
import { brokenByField, brokenRule, CONDITIONS } from "./oracle.ts";
import { TOKENS } from "./stage.ts";

const PARTIES = { seller: SELLER, buyer: BUYER, stranger: STRANGER };
const TYPES = ["Web3ChainV1", "Web3ChainV2"] as const;
const statesOf = (type: PaymentSourceType) =>
  type === "Web3ChainV1" ? DATUM_STATES.slice(0, 4) : DATUM_STATES;
const expected = (rule: Rule | null) => (rule === null ? "accepted" : verdictBy(rule));

const hex = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes).toString("hex"));
const aHash = fc
  .uint8Array({ minLength: 1, maxLength: 70 })
  .map((b) => Buffer.from(b).toString("hex"));
const order = fc.record({
  price: fc.bigInt({ min: 40_000_000n, max: 10n ** 9n }),
  collateral: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1_435_230n, max: 20_000_000n })),
  tokens: fc.bigInt({ min: 0n, max: 1_000n }),
  returns: fc.boolean(),
});

/** Seconds after the lock, mostly near the start or end of a window. */
const moment = fc
  .tuple(
    fc.constantFrom(0, 1_800, SUBMIT_BY, UNLOCK, DISPUTE, DISPUTE + 3_600),
    fc.oneof(fc.constantFrom(-1, 0, 1), fc.integer({ min: -900, max: 900 })),
  )
  .map(([near, offset]) => Math.max(1, near + offset));

const findLock = (type: PaymentSourceType, of: Order) => {
  const { stage, escrows } = lockAll(deploymentOf(type), [of]);
  const [escrow] = escrows;
  if (!escrow) throw new Error("nothing was locked");
  return { stage, escrow };
};

describe.each(TYPES)("%s", (type) => {
  const steps = ["submitResult", "requestRefund", "redeemer2", "authorizeRefund"] as const;
  const anyStep = fc.constantFrom(
    ...steps.flatMap((act) => CONDITIONS[type][act].from.map((state) => ({ act, state }))),
  );

  /** A lawful step of an escrow that was locked in a suitable state. */
  function goingOn(of: Order, { act, state }: { act: OperatorAction; state: DatumState }) {
    const hasResult = state === "ResultSubmitted" || state === "Disputed";
    const { stage, escrow } = findLock(type, {
      ...of,
      datum: { state, resultHash: hasResult ? "ab" : "" },
    });
    const lawful = draft([{ escrow, act }], 0);
    const datum = nextDatum(escrow, act, lawful.to ?? 0, {});
    if (datum === null) throw new Error(`${act} ends an escrow`);
    return { stage, setup: { type, stage, escrows: [escrow], locked: [escrow] }, lawful, datum };
  }

  it("takes every move that is lawful, whatever came before", () => {
    const step = fc.record({
      choice: fc.nat(),
      wait: fc.integer({ min: 0, max: 4 * 3_600 }),
      length: fc.integer({ min: 1, max: 600 }),
      resultHash: aHash,
    });
    fc.assert(
      fc.property(order, fc.array(step, { minLength: 1, maxLength: 6 }), (of, steps) => {
        let { stage, escrow } = findLock(type, of);
        let now = 0;
        for (const { choice, wait, length, resultHash } of steps) {
          const from = now + wait;
          const possible = OPERATOR_ACTIONS.flatMap((act) => {
            const signer = CONDITIONS[type][act].by ?? ("stranger" as const);
            const attempt = { signer, from: timeAt(from), to: timeAt(from + length) };
            return brokenRule(escrow.datum, act, attempt) === null ? [act] : [];
          });
          const act = possible[choice % possible.length];
          now = from;
          if (act === undefined) continue;
          const plan = { from, to: from + length, resultHash };
          ({ stage, escrow } = move(stage, escrow, act, 0, plan));
          if (nextDatum(escrow, act, 0, plan) === null) return;
        }
      }),
      runs(5, 1_000),
    );
  });

  it("lets act who may, out of the right state, at the right time", () => {
    const attempt = fc.record({
      act: fc.constantFrom(...OPERATOR_ACTIONS),
      state: fc.constantFrom(...statesOf(type)),
      resultHash: fc.oneof(fc.constant(""), aHash),
      sellerCooldown: moment,
      buyerCooldown: moment,
      signer: fc.oneof(
        { weight: 3, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.constantFrom("seller", "buyer", "stranger") },
      ),
      from: moment,
      isOpen: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      length: fc.integer({ min: 1, max: 600 }),
    });
    fc.assert(
      fc.property(attempt, ({ act, state, resultHash, isOpen, from, length, ...rest }) => {
        const { by } = CONDITIONS[type][act];
        const signer = rest.signer ?? by ?? "stranger";
        const { stage, escrow } = findLock(type, {
          datum: {
            state,
            resultHash,
            sellerCooldownTime: BigInt(timeAt(rest.sellerCooldown)),
            buyerCooldownTime: BigInt(timeAt(rest.buyerCooldown)),
          },
        });
        const to = from + length;
        const lawful = draft([{ escrow, act }], 0, { from, to });
        const signed = by === null ? lawful : { ...lawful, payer: PARTIES[signer], coSigners: [] };
        const made = isOpen ? { ...signed, from: null } : signed;
        const rule = brokenRule(escrow.datum, act, {
          signer,
          from: isOpen ? null : timeAt(from),
          to: timeAt(to),
        });
        expect(verdictOn(stage, made)).toBe(expected(rule));
      }),
      runs(12, 1_000),
    );
  });

  it("refuses another datum where an escrow goes on, by the rule on the field", () => {
    const numbers = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n });
    const anAddress = fc.constantFrom(...WALLETS.map(({ address }) => address));
    const ofV2 = {
      buyerReturnAddress: fc.option(anAddress),
      sellerReturnAddress: fc.option(anAddress),
    };
    const fields = {
      buyer: anAddress,
      seller: anAddress,
      ...(type === "Web3ChainV2" ? ofV2 : {}),
      referenceKey: hex(40),
      referenceSignature: hex(70),
      sellerNonce: hex(40),
      buyerNonce: hex(40),
      agentIdentifier: hex(40),
      collateralReturn: numbers,
      inputHash: hex(40),
      resultHash: hex(40),
      payByTime: numbers,
      submitResultTime: numbers,
      unlockTime: numbers,
      externalDisputeUnlockTime: numbers,
      sellerCooldownTime: numbers,
      buyerCooldownTime: numbers,
      state: fc.constantFrom(...statesOf(type)),
    } satisfies Partial<Record<keyof EscrowDatum, fc.Arbitrary<string | bigint | null>>>;
    const names = Object.keys(fields) as (keyof typeof fields)[];
    const change = fc
      .constantFrom(...names)
      .chain((field) =>
        fc.tuple(fc.constant(field), fields[field] as fc.Arbitrary<EscrowDatum[keyof EscrowDatum]>),
      );
    fc.assert(
      fc.property(order, anyStep, change, (of, step, [field, value]) => {
        const { stage, setup, lawful, datum } = goingOn(of, step);
        const made = next(() => ({ [field]: value }))(lawful, setup);
        expect(verdictOn(stage, made)).toBe(expected(brokenByField(step.act, datum, field, value)));
      }),
      runs(12, 1_000),
    );
  });

  it("refuses less of the native coin, and any other quantity of tokens", () => {
    const unit = fc.constantFrom("", TOKENS[0]);
    const quantity = fc.bigInt({ min: -5n, max: 5n });
    fc.assert(
      fc.property(order, anyStep, unit, quantity, (of, step, changed, amount) => {
        const { stage, setup, lawful } = goingOn({ ...of, tokens: 10n }, step);
        const made = holds("escrow", plus(amount, changed))(lawful, setup);
        const isKept = changed === "" ? amount >= 0n : amount === 0n;
        expect(verdictOn(stage, made)).toBe(expected(isKept ? null : "valueKept"));
      }),
      runs(4, 1_000),
    );
  });
});
