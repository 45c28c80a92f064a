/** What the ledger says to a transaction that moves escrows, which have a past. */
import { readyContracts } from "../../../devnet/contracts/deployment.ts";
import { RULES, type Rule } from "../../../devnet/contracts/rules.ts";
import { LedgerRejection } from "../../../devnet/ledger/rejection.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { type Act, build, type Draft, draft, move, type Plan } from "./drafts.ts";
import { type Board, deploymentOf, type Escrow, lockAll, type Order, timeAt } from "./escrows.ts";
import type { Stage } from "./stage.ts";

export interface Scene {
  type: PaymentSourceType;
  stage: Stage;
  escrows: Escrow[];
  /** The escrows as they were locked. */
  locked: Escrow[];
}

/** A change of a lawful transaction. */
export type Change = (draft: Draft, scene: Scene) => Draft;

export interface Case {
  /** What is locked. Default: one escrow about which nothing is special. */
  orders?: Order[] | undefined;
  board?: Board | undefined;
  /** The moves that each escrow has behind it, each in a transaction of its own. */
  before?: (Act | readonly [Act, Plan])[] | undefined;
  /** What is done at last: to the only escrow, or to each, or to none where it is null. */
  last: Act | (Act | null)[];
  plan?: Plan | undefined;
  /** What is special about the last transaction. */
  change?: Change | undefined;
}

/** A transaction and what the contract says to it. */
export interface Row extends Case {
  /** Letters and number; rows of both generations with the same meaning share them. */
  id: string;
  title: string;
  /** The generation, if the row is about one only. */
  on?: 1 | 2;
  /** The rule by which it is refused, or the ledger's own name of one. Accepted without. */
  refused?: Rule | { ledger: string };
  /** What the case is, once the one thing that is wrong is right. Default: without the change. */
  right?: Partial<Omit<Case, "change">>;
}

const scenes = new Map<string, Scene>();

/** An escrow for each order, with what each has behind it. */
export function sceneOf(type: PaymentSourceType, { orders, board, before }: Case): Scene {
  const key = keyOf([type, orders, board, before]);
  const known = scenes.get(key);
  if (known) return known;
  const scene = play(type, orders ?? [{}], board, before ?? []);
  scenes.set(key, scene);
  return scene;
}

function play(
  type: PaymentSourceType,
  orders: readonly Order[],
  board: Board | undefined,
  before: NonNullable<Case["before"]>,
): Scene {
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
export function draftOf(type: PaymentSourceType, of: Case): { scene: Scene; made: Draft } {
  const scene = sceneOf(type, of);
  const acts = typeof of.last === "string" ? [of.last] : of.last;
  const moves = scene.escrows.flatMap((escrow, i) => {
    const act = acts[i] ?? null;
    return act === null ? [] : [{ escrow, act }];
  });
  const lawful = draft(moves, of.before?.length ?? 0, of.plan);
  return { scene, made: of.change?.(lawful, scene) ?? lawful };
}

/** "accepted", the number of the rule that refuses, or the ledger's name of another. */
export type Verdict = "accepted" | number | string;

export function verdictOn(stage: Stage, made: Draft): Verdict {
  return judge(() => stage.after(build(stage, made), timeAt(made.at)));
}

/** Scripts of others do not say by which rule they refuse. */
const SAYS_RULES = Object.keys(readyContracts()).length === 0;

/** What is said to a transaction that breaks a rule. */
export const verdictBy = (rule: Rule): Verdict => (SAYS_RULES ? RULES[rule] : "PlutusFailure");

/** What the ledger says to a transaction that is submitted. */
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
  const { scene, made } = draftOf(type, of);
  return verdictOn(scene.stage, made);
}

const lawful = new Map<string, Verdict>();

/** The same for a case that nothing is special about: many rows share theirs. */
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
