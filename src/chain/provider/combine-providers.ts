import type { Outages, ProviderPurpose } from "./outage.ts";
import {
  CallBudgetExhaustedError,
  EvaluationUnavailableError,
  type NetworkIdentity,
  type Provider,
  ProviderError,
  ResponseTooLargeError,
  type TransactionProvider,
} from "./provider.ts";
import { isPermanentRejection } from "./rejection.ts";

/** One of several providers of the same chain. */
export interface ProviderMember {
  /** A provider that is not used for reads may lack all of those calls. */
  provider: Pick<Provider, "evaluate" | "submit"> & NetworkIdentity & Partial<Provider>;
  purposes: readonly ProviderPurpose[];
  /** As they were when the list was opened, and after each report. */
  readonly outages: Outages;
  /** Tells everybody who uses the provider what became of a call. Never throws. */
  report(purpose: ProviderPurpose, failure: ProviderError | null): Promise<void>;
}

/**
 * One view of the chain: all reads of a pass, a wallet's run or a request come from one provider. The
 * first call chooses it, and nothing changes it afterwards.
 */
export class ProviderView {
  /** Index of the provider that is read; null before the first answer. */
  reader: number | null = null;
  /** Whether the chosen provider failed, so that another view does not choose it. */
  isBroken = false;
  /** The providers that it may read, by index; none where there is no list. */
  readers: readonly (readonly [index: number, member: ProviderMember])[] = [];

  /** Providers that it must not read, by index. */
  readonly passedOver: readonly number[];

  constructor(passedOver: readonly number[] = []) {
    this.passedOver = passedOver;
  }

  /** Whether another view would read a provider that works, and this one does not. */
  get canSwitch(): boolean {
    return (
      this.isBroken &&
      this.readers.some(([i, { outages }]) => i !== this.reader && outages.reads === undefined)
    );
  }

  /** Another view without this one's provider; null when that one would read nothing. */
  passOverReader(): ProviderView | null {
    if (this.reader === null || this.readers.length < 2) return null;
    return new ProviderView([...this.passedOver, this.reader]);
  }
}

const READ_CALLS = [
  "latestBlock",
  "block",
  "addressTransactions",
  "transaction",
  "transactionCbor",
  "transactionUtxos",
  "scriptRedeemers",
  "assetHolders",
  "assetMint",
  "addressFunds",
  "addressOutputs",
  "addressUtxos",
  "spenders",
  "scriptCbor",
  "protocolParameters",
] as const satisfies readonly (keyof Provider)[];

type ReadCalls = Pick<Provider, (typeof READ_CALLS)[number]>;

/**
 * Several providers of one chain as one.
 *
 * - A read goes to the view's provider. The first read of a view chooses it: the first one in order
 *   that works, then those that failed lately.
 * - An evaluation goes to the first provider that can run the scripts.
 * - A transaction goes to all that may submit, at once.
 *
 * @param signal - after it, failures say nothing of a provider.
 * @throws ProviderError, the first one, when no provider answers
 */
export function combineProviders(
  members: readonly ProviderMember[],
  view: ProviderView = new ProviderView(),
  signal?: AbortSignal,
): Provider {
  view.readers = orderByHealth(members, "reads")
    .map((member) => [members.indexOf(member), member] as const)
    .filter(([i]) => !view.passedOver.includes(i));
  const [first, ...others] = view.readers;
  if (first !== undefined && others.length === 0) view.reader = first[0];
  let choice: Promise<void> | null = null;

  async function askReader<T>(member: ProviderMember, call: (provider: ReadCalls) => Promise<T>) {
    try {
      const answer = await call(member.provider as ReadCalls);
      await member.report("reads", null);
      return answer;
    } catch (error) {
      if (isOutage(error) && !signal?.aborted) await member.report("reads", error);
      throw error;
    }
  }

  async function chooseReader<T>(call: (provider: ReadCalls) => Promise<T>): Promise<T> {
    let failure: unknown = null;
    for (const [i, member] of view.readers)
      try {
        const answer = await askReader(member, call);
        view.reader = i;
        return answer;
      } catch (error) {
        if (!isSkippable(error)) throw error;
        failure ??= error;
      }
    throw failure ?? NONE_ERROR;
  }

  async function read<T>(call: (provider: ReadCalls) => Promise<T>): Promise<T> {
    // Calls that are made at once choose one provider.
    while (view.reader === null) {
      if (choice === null) {
        const selection = chooseReader(call);
        choice = selection.then(noop, noop).finally(() => {
          choice = null;
        });
        return selection;
      }
      await choice;
    }
    try {
      return await askReader(members[view.reader] as ProviderMember, call);
    } catch (error) {
      if (isOutage(error)) view.isBroken = true;
      throw error;
    }
  }

  const reads = Object.fromEntries(
    READ_CALLS.map((name) => [
      name,
      (...args: never[]) =>
        read((provider) => (provider[name] as (...args: never[]) => Promise<unknown>)(...args)),
    ]),
  ) as unknown as ReadCalls;
  return {
    ...reads,
    evaluate: (...asked) => evaluateAtFirst(orderByHealth(members, "evaluate"), asked),
    submit: createParallelSubmitter(members),
  };
}

const noop = () => undefined;
const NONE_ERROR = new ProviderError("provider: the payment source has none for this", {
  permanent: true,
});

async function evaluateAtFirst(
  members: readonly ProviderMember[],
  asked: Parameters<Provider["evaluate"]>,
): ReturnType<Provider["evaluate"]> {
  let failure: unknown = null;
  for (const member of members)
    try {
      const units = await member.provider.evaluate(...asked);
      await member.report("evaluate", null);
      return units;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      // Another node may know an output that this one does not.
      const isObstacle = error instanceof EvaluationUnavailableError;
      if (isOutage(error) && !isObstacle) await member.report("evaluate", error);
      failure ??= error;
    }
  throw failure ?? NONE_ERROR;
}

/**
 * Submits to all providers that may, at once. One that accepts is enough. A refusal that ends the bytes
 * counts only when no provider accepts them.
 *
 * The returned function throws the first ProviderError when none accepted the bytes and not all refused
 * them: one of them may have them.
 */
function createParallelSubmitter(
  members: readonly ProviderMember[],
): TransactionProvider["submit"] {
  return async (cbor) => {
    const able = orderByHealth(members, "submit");
    const working = able.filter((member) => isUsable(member, "submit"));
    const places = working.length > 0 ? working : able;
    const answers = places.map(async (member) => {
      try {
        const answer = await member.provider.submit(cbor);
        await member.report("submit", null);
        return answer;
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        if (isOutage(error)) await member.report("submit", error);
        return error;
      }
    });
    // Nobody waits for the others once one has accepted.
    const accepted = answers.map(async (answer) => {
      if ((await answer) !== null) throw new Error("not accepted");
      return null;
    });
    try {
      return await Promise.any(accepted);
    } catch {
      return summarizeRefusals(await Promise.all(answers));
    }
  };
}

type SubmitAnswer = Awaited<ReturnType<TransactionProvider["submit"]>> | ProviderError;

/** What answers mean of which none accepts. */
function summarizeRefusals(answers: readonly SubmitAnswer[]): { refused: string } {
  const refusals = answers.flatMap((one) =>
    one === null || one instanceof ProviderError ? [] : [one],
  );
  const permanent = refusals.find(({ refused }) => isPermanentRejection(refused));
  if (permanent !== undefined) return permanent;
  const failures = answers.flatMap((one) => (one instanceof ProviderError ? [one] : []));
  // One that takes no transactions cannot have this one.
  const unknown = failures.find((one) => !isUnserved(one));
  if (unknown !== undefined) throw unknown;
  if (refusals[0] !== undefined) return refusals[0];
  throw failures[0] ?? NONE_ERROR;
}

/** Those that work in their order, then those whose calls for the purpose failed. */
function orderByHealth(
  members: readonly ProviderMember[],
  purpose: ProviderPurpose,
): ProviderMember[] {
  const able = members.filter(({ purposes }) => purposes.includes(purpose));
  return [
    ...able.filter((member) => isUsable(member, purpose)),
    ...able.filter((member) => !isUsable(member, purpose)),
  ];
}

/** Reads are probed by the sync. Nobody else would find out whether a provider evaluates or submits again. */
function isUsable({ outages }: ProviderMember, purpose: ProviderPurpose): boolean {
  const outage = outages[purpose];
  if (outage === undefined) return true;
  return purpose !== "reads" && outage.probeAt <= Date.now();
}

/** Whether another provider may answer what this one did not. */
function isSkippable(error: unknown): error is ProviderError {
  return error instanceof ProviderError && !(error instanceof ResponseTooLargeError);
}

/** Whether a call is one that the provider never serves. */
function isUnserved({ status, permanent }: ProviderError): boolean {
  return status === 404 && permanent;
}

/**
 * Whether a failed call says that the provider does not work. Our own budget says nothing of it. A 400 is
 * about what was asked, which callers choose.
 */
function isOutage(error: unknown): error is ProviderError {
  if (!isSkippable(error) || error instanceof CallBudgetExhaustedError) return false;
  return error.status !== 400 && !isUnserved(error);
}
