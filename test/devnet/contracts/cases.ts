/** The ledger's verdict on a transaction that moves escrows after earlier moves. */
import { readyContracts } from "../../../devnet/contracts/deployment.ts";
import { RULES, type Rule } from "../../../devnet/contracts/rules.ts";
import { LedgerRejection } from "../../../devnet/ledger/rejection.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { build, type Draft, draft, move, type OperatorAction, type Plan } from "./drafts.ts";
import { type Board, deploymentOf, type Escrow, lockAll, type Order, timeAt } from "./escrows.ts";
import type { Stage } from "./stage.ts";

export interface EscrowSetup {
  type: PaymentSourceType;
  stage: Stage;
  escrows: Escrow[];
  /** The escrows as they were locked. */
  locked: Escrow[];
}

/** A change of a lawful transaction. */
export type Change = (draft: Draft, setup: EscrowSetup) => Draft;

export interface Case {
  /** The locked orders. Default: one usual escrow. */
  orders?: Order[] | undefined;
  board?: Board | undefined;
  /** The earlier moves of each escrow, one transaction each. */
  before?: (OperatorAction | readonly [OperatorAction, Plan])[] | undefined;
  /** The last act: of the only escrow, or of each; null for none. */
  last: OperatorAction | (OperatorAction | null)[];
  plan?: Plan | undefined;
  /** The peculiarity of the last transaction. */
  change?: Change | undefined;
}

/** A transaction and the contract's verdict. */
export interface Row extends Case {
  /** Letters and number; rows of both generations with the same meaning share them. */
  id: string;
  title: string;
  /** The generation, if the row is about one only. */
  on?: 1 | 2;
  /** The rule that refuses it, or the ledger's name of a rule. None: it is accepted. */
  refused?: Rule | { ledger: string };
  /** The case without the fault. Default: without the change. */
  right?: Partial<Omit<Case, "change">>;
}

const setups = new Map<string, EscrowSetup>();

/** An escrow for each order, after its earlier moves. */
export function setupOf(type: PaymentSourceType, { orders, board, before }: Case): EscrowSetup {
  const key = keyOf([type, orders, board, before]);
  const known = setups.get(key);
  if (known) return known;
  const setup = play(type, orders ?? [{}], board, before ?? []);
  setups.set(key, setup);
  return setup;
}

function play(
  type: PaymentSourceType,
  orders: readonly Order[],
  board: Board | undefined,
  before: NonNullable<Case["before"]>,
): EscrowSetup {
  const { stage: start, escrows: locked } = lockAll(deploymentOf(type, board), orders);
  let stage = start;
  const escrows = locked.map((first) => {
    let escrow = first;
    for (const [made, step] of before.entries()) {
      const [act, plan] = typeof step === "string" ? [step, {}] : step;
      ({ stage, escrow } = move(stage, escrow, act, made, plan));
    }
    return escrow;
  });
  return { type, stage, escrows, locked };
}

const keyOf = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}n` : part));

/** The transaction of a case. */
export function draftOf(type: PaymentSourceType, of: Case): { setup: EscrowSetup; made: Draft } {
  const setup = setupOf(type, of);
  const acts = typeof of.last === "string" ? [of.last] : of.last;
  const moves = setup.escrows.flatMap((escrow, i) => {
    const act = acts[i] ?? null;
    return act === null ? [] : [{ escrow, act }];
  });
  const lawful = draft(moves, of.before?.length ?? 0, of.plan);
  return { setup, made: of.change?.(lawful, setup) ?? lawful };
}

/** "accepted", the number of the rule that refuses, or the ledger's name of another. */
export type Verdict = "accepted" | number | string;

export function verdictOn(stage: Stage, made: Draft): Verdict {
  return judge(() => stage.after(build(stage, made), timeAt(made.at)));
}

/** Only our own scripts name the rule by which they refuse. */
const SAYS_RULES = Object.keys(readyContracts()).length === 0;

/** The verdict on a transaction that breaks a rule. */
export const verdictBy = (rule: Rule): Verdict => (SAYS_RULES ? RULES[rule] : "PlutusFailure");

/** The ledger's verdict on a submitted transaction. */
export function judge(submit: () => Stage): Verdict {
  try {
    submit();
    return "accepted";
  } catch (error) {
    if (!(error instanceof LedgerRejection)) throw error;
    const rule = /\brule (\d+)\b/.exec(error.message)?.[1];
    return SAYS_RULES && rule !== undefined ? Number(rule) : error.token;
  }
}

export function verdictOf(type: PaymentSourceType, of: Case): Verdict {
  const { setup, made } = draftOf(type, of);
  return verdictOn(setup.stage, made);
}

const lawful = new Map<string, Verdict>();

/** The same for a usual case, which many rows share. */
export function verdictOfLawful(
  type: PaymentSourceType,
  { orders, board, before, last, plan }: Case,
): Verdict {
  const of = { orders, board, before, last, plan };
  const key = keyOf([type, of]);
  const verdict = lawful.get(key) ?? verdictOf(type, of);
  lawful.set(key, verdict);
  return verdict;
}

/** The verdict that a row expects. */
export function expectedOf({ refused }: Row): Verdict {
  if (refused === undefined) return "accepted";
  return typeof refused === "string" ? verdictBy(refused) : refused.ledger;
}
