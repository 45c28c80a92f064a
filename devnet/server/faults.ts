/**
 * One way in which a provider misbehaves. A call meets every rule that matches it, in the order
 * they were added, so small rules combine: late *and* truncated, say.
 */
export interface FaultRule {
  /** Regular expression on path and query below the base path. All calls when omitted. */
  match?: string;
  /** Matching calls that pass unharmed before the rule sets in. Default 0. */
  after?: number;
  /** Calls the rule applies to; then it is spent. Unlimited when omitted. */
  times?: number;

  /** Waits this long before anything else, milliseconds. */
  delay?: number;
  /** Never answers. */
  hang?: boolean;
  /** Drops the connection without an answer. */
  reset?: boolean;
  /** Answers with this HTTP status instead of doing anything. */
  status?: number;
  /** `Retry-After` header of that answer: seconds or a date. */
  retryAfter?: string;
  /** Body of that answer, sent as it is, in place of the usual JSON. */
  body?: string;

  /** Hands a submission to this node, whose mempool is its own. Default 0. */
  node?: number;
  /** Answers as of so many blocks ago, consistently. */
  behind?: number;
  /** Answers from a fork that was abandoned: 0 is what the last rollback took back. */
  fork?: number;
  /** Query parameters that are passed over, as by a proxy that does not know them. */
  ignore?: string[];
  /** A listing lacks its last so many rows. */
  dropRows?: number;
  /** A listing lacks the rows of this transaction, as of an index that shows it late. */
  hideTransaction?: string;
  /** Sends the first half of the body as if it were all of it. */
  truncate?: boolean;
}

/** What happens to one call: the rules it met, laid over one another, the later ones on top. */
export type Fault = Omit<FaultRule, "match" | "after" | "times">;

export interface Faults {
  /** @throws SyntaxError when `match` is no regular expression. */
  add(rule: FaultRule): void;
  clear(): void;
  /** What happens to a call of `path` (with its query). Counts the call against the rules. */
  apply(path: string): Fault;
}

export function createFaults(): Faults {
  let rules: { rule: FaultRule; pattern: RegExp; seen: number }[] = [];

  return {
    add(rule) {
      rules.push({ rule, pattern: new RegExp(rule.match ?? ""), seen: 0 });
    },
    clear() {
      rules = [];
    },
    apply(path) {
      let fault: Fault = {};
      for (const active of rules) {
        if (!active.pattern.test(path)) continue;
        const { match: _, after = 0, times = Number.POSITIVE_INFINITY, ...effects } = active.rule;
        const nth = active.seen++;
        if (nth >= after && nth < after + times) fault = { ...fault, ...effects };
      }
      return fault;
    },
  };
}
