/**
 * Read replicas behind the primary. A call that a replica may answer gets what the same call got up to some seconds
 * before. As D1 documents, a session sees nothing older than its bookmark or its call before.
 */

/** What the runtime's class of sessions has. */
export interface Session {
  /** One object for each database. */
  fetcher: object;
  /** Where the next call may go: `first-primary`, `first-unconstrained`, or a bookmark. Null: to the primary. */
  bookmarkOrConstraint: string | null;
}

/** An answer of the primary, and when its call began. */
interface PastAnswer {
  /** In the order of all calls. */
  order: number;
  /** Epoch milliseconds. */
  time: number;
  answer: unknown;
}

/** By database, and by the texts and parameters of the call. */
const pastAnswers = new WeakMap<object, Map<string, PastAnswer>>();
/** How far a session has seen, in the order of all calls. */
const seenOrders = new WeakMap<Session, number>();
let newestOrder = 0;

/** Numbers calls. The order goes on after a restart. */
function takeOrder(): number {
  newestOrder = Math.max(newestOrder + 1, Date.now());
  return newestOrder;
}

/**
 * Answers a call of a session, and moves the session's bookmark on.
 *
 * @param lagMs - how old an answer may be; 0: replicas are up to date
 */
export async function answerAsReplica(
  session: Session,
  [sql, params]: readonly [string | string[], unknown],
  lagMs: number,
  call: () => unknown,
): Promise<unknown> {
  const { fetcher, bookmarkOrConstraint: where } = session;
  if (where === null) return call();
  const seen = seenOrders.get(session) ?? orderOf(where);
  const isRead = [sql].flat().every((text) => /^\s*select\b/i.test(text));
  const mayLag = isRead && where !== "first-primary";
  const statement = JSON.stringify([sql, params]);
  const past = mayLag ? pastAnswers.get(fetcher)?.get(statement) : undefined;
  if (past && past.order > seen && Date.now() - past.time < lagMs) {
    moveOn(session, past.order);
    return structuredClone(past.answer);
  }
  const [order, time] = [takeOrder(), Date.now()];
  const answer = await call();
  moveOn(session, mayLag ? order : takeOrder());
  if (lagMs === 0) pastAnswers.delete(fetcher);
  else if (mayLag) {
    const answers = pastAnswers.get(fetcher) ?? new Map<string, PastAnswer>();
    answers.set(statement, { order, time, answer: structuredClone(answer) });
    pastAnswers.set(fetcher, answers);
  }
  return answer;
}

function moveOn(session: Session, order: number): void {
  const seen = Math.max(seenOrders.get(session) ?? 0, order);
  seenOrders.set(session, seen);
  session.bookmarkOrConstraint = `${seen.toString(16).padStart(16, "0")}-00000000`;
}

const orderOf = (where: string) => (where.startsWith("first-") ? 0 : Number.parseInt(where, 16));
