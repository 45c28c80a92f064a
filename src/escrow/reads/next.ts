/** What a record does next, as `Next` shows it. */
import { lastDeadline, type Window, windowOf } from "../actions/windows.ts";
import { NOT_WORTH } from "../actions/worth.ts";
import { stepByItself } from "../fold/due-at.ts";
import type { EscrowRecord } from "../record.ts";
import { isAbandoned, isTerminal, type Step } from "../wanted.ts";

type Subject = Pick<
  EscrowRecord,
  "side" | "sourceType" | "sourceId" | "terms" | "state" | "wanted" | "wallet" | "isWalletRemoved"
>;

/** The step that a wallet of ours takes next; times are epoch milliseconds of the chain. */
export interface Next extends Window {
  /** Null: none, as far as is known. */
  step: Step | null;
  /** What it waits for beside its time, for people; null: nothing. */
  waitsFor: string | null;
  /** Whether what holds up its wallet or its source holds it up too. */
  isOurTurn: boolean;
  /** Whether nobody has asked for it: then it does not come where such steps are turned off. */
  comesByItself: boolean;
}

const NOTHING: Next = {
  step: null,
  notBefore: null,
  deadline: null,
  waitsFor: null,
  isOurTurn: false,
  comesByItself: false,
};

/** What comes next for a record: what was asked for, or what comes by itself, or what others do. */
export function nextOf(record: Subject): Next {
  const { want, underWay, error, expiredAt } = record.wanted;
  const window = want && windowOf(record, want.step);
  // Nothing more is built for it: only what was sent before may still come.
  const isOver = Boolean(window?.deadline && (want?.tryAt ?? 0) > window.deadline);
  const asked = {
    step: want?.step ?? null,
    notBefore: latest(window?.notBefore, underWay || isOver ? null : want?.tryAt),
    deadline: want && (window ? window.deadline : lastDeadline(record, want.step)),
    comesByItself: false,
  };
  if (isAbandoned(record))
    return {
      ...asked,
      waitsFor: "its wallet, which was removed, to be added again",
      isOurTurn: false,
    };
  if (error?.isManual) return { ...asked, waitsFor: "a person who decides", isOurTurn: false };
  if (underWay) {
    const waitsFor = `transaction ${underWay.transaction.txHash} to be in a block`;
    return { ...asked, waitsFor, isOurTurn: false };
  }
  if (want && !window)
    return { ...asked, waitsFor: "the escrow to return to an earlier state", isOurTurn: false };
  if (isOver)
    return { ...asked, waitsFor: "blocks that show whether it was done in time", isOurTurn: false };
  if (want) return { ...asked, waitsFor: error?.note ?? null, isOurTurn: error === null };
  if (expiredAt !== null || isTerminal(record.state.onChainState)) return NOTHING;
  const step = stepByItself(record);
  const times = step && windowOf(record, step);
  if (times && error?.note === NOT_WORTH)
    return {
      step,
      ...times,
      waitsFor: "somebody to ask for it: it costs more than it brings",
      isOurTurn: false,
      comesByItself: true,
    };
  if (times) return { step, ...times, waitsFor: null, isOurTurn: true, comesByItself: true };
  return ofOthers(record);
}

/** What the other party, or an administrator, may do next. */
function ofOthers(record: Subject): Next {
  const { state } = record;
  const waitsFor = (what: string, step?: Step): Next => ({
    ...NOTHING,
    waitsFor: what,
    deadline: (step && windowOf(record, step)?.deadline) ?? null,
  });
  switch (state.onChainState) {
    case null:
      return waitsFor("the buyer's lock", "FundsLocking");
    case "FundsLocked":
    case "RefundRequested":
      return waitsFor("the seller's result", "SubmitResult");
    case "Disputed":
      return {
        ...waitsFor("one party to give in, or the dispute's settlement"),
        notBefore: Number(record.terms.externalDisputeUnlockTime),
      };
    case "ResultSubmitted":
    case "WithdrawAuthorized":
      return waitsFor("the seller to withdraw");
    case "RefundAuthorized":
      return waitsFor("the buyer to collect the refund");
    default:
      return NOTHING;
  }
}

function latest(one: number | null | undefined, other: number | null | undefined): number | null {
  const times = [one ?? null, other ?? null].filter((time) => time !== null);
  return times.length === 0 ? null : Math.max(...times);
}
