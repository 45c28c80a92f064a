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
  outages: Outages;
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
  /** Whether the chosen provider failed, or all did. */
  isBroken = false;
  /** Providers that this view must not read, by index. */
  readonly passedOver: ReadonlySet<number>;
  /** Providers that it may read; none where there is no list. */
  readerCount = 0;
  #hasAlternative: () => boolean = () => false;

  constructor(passedOver: Iterable<number> = []) {
    this.passedOver = new Set(passedOver);
  }

  /** Another view without this one's provider; null when that one would read nothing. */
  passOverReader(): ProviderView | null {
    if (this.reader === null || this.readerCount < 2) return null;
    return new ProviderView([...this.passedOver, this.reader]);
  }

  /** Whether another view would read a provider that works, and this one does not. */
  get canSwitch(): boolean {
    return this.isBroken && this.#hasAlternative();
  }

  bind(readerCount: number, hasAlternative: () => boolean): void {
    this.readerCount = readerCount;
    this.#hasAlternative = hasAlternative;
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
  "assetMetadata",
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
 * - An evaluation goes to the first provider that gives an answer about the scripts.
 * - A transaction goes to all that may submit, at once.
 *
 * @param signal - after it, failures tell nothing about a provider
 * @throws ProviderError, the first one, when no provider answers
 */
export function combineProviders(
  members: readonly ProviderMember[],
  view: ProviderView = new ProviderView(),
  signal?: AbortSignal,
): Provider {
  const readers = orderByHealth(members, "reads").filter(
    (member) => !view.passedOver.has(members.indexOf(member)),
  );
  view.bind(readers.length, () =>
    readers.some(
      (member) => member.outages.reads === undefined && members.indexOf(member) !== view.reader,
    ),
  );
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
    let failure: unknown = new ProviderError("provider: none is set that reads", {
      permanent: true,
    });
    for (const [i, member] of readers.entries())
      try {
        const answer = await askReader(member, call);
        view.reader = members.indexOf(member);
        return answer;
      } catch (error) {
        if (!isSkippable(error)) throw error;
        if (i === 0) failure = error;
      }
    view.isBroken = true;
    throw failure;
  }

  async function read<T>(call: (provider: ReadCalls) => Promise<T>): Promise<T> {
    // Calls that are made at once choose one provider.
    while (view.reader === null) {
      if (choice !== null) {
        await choice;
        continue;
      }
      const chosen = chooseReader(call);
      choice = chosen.then(
        () => undefined,
        () => undefined,
      );
      try {
        return await chosen;
      } finally {
        choice = null;
      }
    }
    const member = members[view.reader];
    if (member === undefined) throw new RangeError("the view is of another list");
    try {
      return await askReader(member, call);
    } catch (error) {
      if (isSkippable(error)) view.isBroken = true;
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
      const isAnswer =
        error instanceof EvaluationUnavailableError && error.obstacle !== "NotSynced";
      if (isAnswer) throw error;
      if (isOutage(error)) await member.report("evaluate", error);
      failure ??= error;
    }
  throw failure ?? new ProviderError("provider: none is set that evaluates", { permanent: true });
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
  const failure = answers.find((one) => one instanceof ProviderError);
  if (failure !== undefined) throw failure;
  const [first] = refusals;
  if (first !== undefined) return first;
  throw new ProviderError("provider: none is set that submits", { permanent: true });
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

/**
 * Whether a failed call says that the provider does not work. Our own budget says nothing of it, and a 400
 * is about what was asked, which callers choose.
 */
function isOutage(error: unknown): error is ProviderError {
  return isSkippable(error) && !(error instanceof CallBudgetExhaustedError) && error.status !== 400;
}
