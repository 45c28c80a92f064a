/** Random escrows, and random transactions that spend them, each with one random change. */
import fc from "fast-check";
import type { ReadyContracts } from "../../../devnet/contracts/ready.ts";
import { DATUM_STATES } from "../../../src/chain/contracts/escrow-datum.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { type Draft, draft, nextDatum, OPERATOR_ACTIONS, type OperatorAction } from "./drafts.ts";
import {
  type Board,
  DISPUTE,
  datumOf,
  deploymentOf,
  fundsOf,
  hashOf,
  type Order,
  OWN,
  SUBMIT_BY,
  UNLOCK,
  withStake,
} from "./escrows.ts";
import type { Spent } from "./evaluate-draft.ts";
import { randomChange } from "./random-change.ts";
import { oneIn, pick } from "./random-data.ts";
import { boardOf } from "./random-outputs.ts";

const TX = hashOf("a lock");

const board = pick<Board>("three", "three", "three", "one", "one", "tooSmall");
const order = fc.record({
  collateral: pick(0n, 2_000_000n),
  tokens: pick(0n, 7n),
  returns: fc.boolean(),
  isStaked: oneIn(4),
  /** Its reference signature is the other escrow's. */
  isTwin: oneIn(4),
  /** Its datum states more collateral than it holds. */
  isPoor: oneIn(16),
  /** Instead of the usual state; the generation may not have it. */
  state: fc.oneof({ weight: 15, arbitrary: fc.constant(null) }, pick(...DATUM_STATES)),
});

/** Seconds after the lock at which every cooldown of a past is over. */
const PAST_END = 900;
const WITH_RESULT = { resultHash: "ab" };
/** How an escrow usually is before an act, and the second at which the act becomes possible. */
const USUAL: Record<OperatorAction, { datum: Order["datum"] & object; from: number }> = {
  submitResult: { datum: { state: "FundsLocked" }, from: PAST_END },
  requestRefund: { datum: { state: "ResultSubmitted", ...WITH_RESULT }, from: PAST_END },
  redeemer2: { datum: { state: "Disputed", ...WITH_RESULT }, from: PAST_END },
  authorizeRefund: { datum: { state: "Disputed", ...WITH_RESULT }, from: PAST_END },
  withdraw: { datum: { state: "ResultSubmitted", ...WITH_RESULT }, from: UNLOCK },
  withdrawRefund: { datum: { state: "FundsLocked" }, from: SUBMIT_BY },
  withdrawDisputed: { datum: { state: "Disputed", ...WITH_RESULT }, from: DISPUTE },
};

export interface RandomTransaction {
  /** Describes it in a counterexample. */
  name: string;
  draftWith(contracts: ReadyContracts): Draft;
}

/** Replaces our own scripts, and their addresses, in a draft. */
function withContracts(draft: Draft, type: PaymentSourceType, contracts: ReadyContracts): Draft {
  const board = boardOf(draft);
  const own = deploymentOf(type, board, OWN);
  const other = deploymentOf(type, board, contracts);
  const places = new Map([
    [own.address, other],
    [withStake(own).address, withStake(other)],
  ]);
  const at = (address: string) => places.get(address)?.address ?? address;
  return {
    ...draft,
    scripts: draft.scripts.map((script) => (script === own.escrow ? other.escrow : script)),
    outputs: draft.outputs.map((output) => ({ ...output, address: at(output.address) })),
    spends: draft.spends.map((spend) => {
      const deployment = places.get(spend.escrow.deployment.address) ?? other;
      return { ...spend, escrow: { ...spend.escrow, deployment } };
    }),
  };
}

/** Adds time to the cooldowns, so that a later end of the validity is lawful too. */
function withLongCooldowns(of: Draft): Draft {
  const longer = (time: bigint) => (time > 0n ? time + 10n ** 12n : time);
  const outputs = of.outputs.map((output) => {
    if (!output.next) return output;
    const { sellerCooldownTime, buyerCooldownTime } = output.next;
    const next = {
      ...output.next,
      sellerCooldownTime: longer(sellerCooldownTime),
      buyerCooldownTime: longer(buyerCooldownTime),
    };
    return { ...output, next };
  });
  return { ...of, outputs };
}

/** The escrow after some acts, a minute apart. */
function afterActs(locked: Spent, past: readonly OperatorAction[]): Spent {
  let { datum } = locked;
  for (const [n, act] of past.entries())
    datum = nextDatum({ ...locked, datum }, act, n * 60, {}) ?? datum;
  return { ...locked, datum };
}

/** Escrows with a past, and what is done to all of them in the last transaction. */
const randomLife = (type: PaymentSourceType) =>
  fc.record({
    type: fc.constant(type),
    orders: fc.array(order, { minLength: 1, maxLength: 2 }),
    board,
    past: fc.oneof(
      { weight: 3, arbitrary: fc.constant<OperatorAction[]>([]) },
      fc.array(
        pick<OperatorAction>("submitResult", "requestRefund", "redeemer2", "authorizeRefund"),
        {
          minLength: 2,
          maxLength: 3,
        },
      ),
    ),
    act: pick<OperatorAction>(...OPERATOR_ACTIONS, "withdraw", "withdrawDisputed"),
    isPatient: fc.boolean(),
    /** Two escrows are at two stake parts. Web3ChainV1 refuses all others. */
    areApart: type === "Web3ChainV1" ? oneIn(8).map((isRare) => !isRare) : fc.boolean(),
  });
type EscrowStory = ReturnType<typeof randomLife> extends fc.Arbitrary<infer T> ? T : never;

/** The escrows that the last transaction spends. */
function escrowsOf({ type, orders, board, past, act, areApart }: EscrowStory): Spent[] {
  const [first] = orders;
  const { datum: usual } = USUAL[act];
  const plain = deploymentOf(type, board, OWN);
  return orders.map((one, index) => {
    const isStaked = index > 0 && areApart ? !first?.isStaked : one.isStaked;
    const datum = {
      ...usual,
      ...(one.state && { state: one.state }),
      ...(one.isPoor && { collateralReturn: 10n ** 9n }),
    };
    const locked: Spent = {
      deployment: isStaked ? withStake(plain) : plain,
      board,
      datum: datumOf(type, { ...one, number: one.isTwin ? 0 : index, datum }),
      funds: fundsOf(one),
      txHash: TX,
      index,
    };
    // No rule checks the past: anybody may lock an escrow in any state.
    return afterActs(locked, past);
  });
}

/** The last transaction of a life without a change. Most are lawful. */
function lastDraft(life: EscrowStory): Draft {
  const { act, past, isPatient } = life;
  const from = past.length === 0 ? USUAL[act].from : Math.max(USUAL[act].from, PAST_END);
  const moves = escrowsOf(life).map((escrow) => ({ escrow, act }));
  const soonest = draft(moves, 1, { from, to: from + 300 });
  return isPatient ? withLongCooldowns(soonest) : soonest;
}

export function randomTransaction(type: PaymentSourceType): fc.Arbitrary<RandomTransaction> {
  return randomLife(type).chain((life) => {
    const unchanged = lastDraft(life);
    return randomChange(unchanged).map(([name, change]) => ({
      name: `${life.act} of ${life.orders.length} after ${life.past.join(", ")}: ${name}`,
      draftWith: (contracts: ReadyContracts) => withContracts(change(unchanged), type, contracts),
    }));
  });
}
