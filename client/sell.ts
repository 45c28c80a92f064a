import type { Client, Schemas } from "./client.ts";
import { unwrap } from "./errors.ts";
import { paymentFeed } from "./feeds.ts";
import { type FollowOptions, follow } from "./follow.ts";

type Payment = Schemas["Payment"];

/** What is sold, and how far it got. */
export interface SellOptions extends Omit<FollowOptions, "onError"> {
  /**
   * Does a paid job and delivers its result; answers the result's hash (`hashResult`), or null for a
   * payment that is none of its business. May be called again for a job after a restart.
   */
  work: (payment: Payment) => Promise<string | null>;
  /** Keeps the position from which to go on after a restart: all before it has been dealt with. */
  keep: (position: string) => Promise<void> | void;
  /** Told of a job that failed, which is then passed over; without it, `sell` ends with the error. */
  onFailed?: (error: unknown, payment: Payment) => void;
  /** Told of failures that are waited out: of the service or the connection. */
  onError?: (error: unknown) => void;
  /** Jobs that are worked on at the same time; default 4. */
  atOnce?: number;
}

const AT_ONCE = 4;

/**
 * Works on every payment whose funds are locked, and submits the hashes of the results. Positions are
 * kept in the order of the payments, so a restart repeats jobs that were not finished and skips none.
 *
 * @throws what `work` throws, unless there is `onFailed`; ServiceError
 */
export async function sell(
  client: Client,
  network: Schemas["Network"],
  { work, keep, onFailed, atOnce = AT_ONCE, ...options }: SellOptions,
): Promise<void> {
  const open: { position: string; done: boolean }[] = [];
  const running = new Map<string, Promise<void>>();
  let failed: { error: unknown } | null = null;

  const finish = async (entry: (typeof open)[number]) => {
    entry.done = true;
    let reached: string | undefined;
    while (open[0]?.done) reached = open.shift()?.position;
    if (reached !== undefined) await keep(reached);
  };
  const run = async (payment: Payment, entry: (typeof open)[number]) => {
    try {
      await deliver(client, network, payment, work);
    } catch (error) {
      if (!onFailed) throw error;
      onFailed(error, payment);
    }
    await finish(entry);
  };

  for await (const { item, position } of follow(paymentFeed(client, network), options)) {
    if (failed) break;
    const entry = { position, done: false };
    open.push(entry);
    // What changes while it is worked on, its own result say, is no second job.
    if (!isDue(item) || running.has(item.id)) {
      await finish(entry);
      continue;
    }
    const job = run(item, entry)
      .catch((error: unknown) => {
        failed ??= { error };
      })
      .finally(() => running.delete(item.id));
    running.set(item.id, job);
    if (running.size >= atOnce) await Promise.race(running.values());
  }
  await Promise.all(running.values());
  if (failed) throw (failed as { error: unknown }).error;
}

/** Whether the result of a payment is wanted, and may be submitted. */
function isDue({ onChainState, resultHash, NextAction }: Payment): boolean {
  return (
    (onChainState === "FundsLocked" || onChainState === "RefundRequested") &&
    resultHash === "" &&
    NextAction.requestedAction === "WaitingForExternalAction"
  );
}

async function deliver(
  client: Client,
  network: Schemas["Network"],
  payment: Payment,
  work: SellOptions["work"],
): Promise<void> {
  const submitResultHash = await work(payment);
  if (submitResultHash === null) return;
  const { blockchainIdentifier } = payment;
  const body = { network, blockchainIdentifier, submitResultHash };
  unwrap(await client.POST("/api/v1/payment/submit-result", { body }));
}
