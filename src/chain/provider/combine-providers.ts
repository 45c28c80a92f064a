import { isLacking, type Outages, type ProviderPurpose } from "./outage.ts";
import {
  CallBudgetExhaustedError,
  EvaluationUnavailableError,
  type LedgerState,
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
  provider: Pick<Provider, "evaluate" | "submit"> &
    NetworkIdentity &
    Partial<Provider & LedgerState>;
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
 * - Nodes that evaluate, and are not read, replace protocol parameters that the reader does not give, and
 *   have a say in what is spent.
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

  async function chooseReader<T>(call: (provider: ReadCalls) => Promise<T>): Promise<T> {
    // Another opening of the list may have brought them: their positions are the same.
    const { readers } = view;
    const choose = (i: number) => {
      view.reader = readers[i]?.[0] ?? null;
    };
    return askInOrder(
      readers.map(([, member]) => member),
      "reads",
      call,
      signal,
      choose,
    );
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
      return await ask(members[view.reader] as ProviderMember, "reads", call, signal);
    } catch (error) {
      if (isOutage(error)) view.isBroken = true;
      throw error;
    }
  }

  /** Those that evaluate, are not read, and have another call. */
  function listNodes(name: keyof NodeCalls): ProviderMember[] {
    return orderByHealth(members, "evaluate").filter(
      ({ provider, purposes }) => provider[name] && !purposes.includes("reads"),
    );
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
    protocolParameters: () =>
      reads.protocolParameters().catch(async (error: unknown) => {
        const nodes = listNodes("protocolParameters");
        if (nodes.length === 0 || !isSkippable(error)) throw error;
        const call = (node: NodeCalls) => node.protocolParameters();
        return askInOrder(nodes, "evaluate", call, signal).catch(() => Promise.reject(error));
      }),
    async spenders(txHash) {
      const found = await reads.spenders(txHash);
      const nodes = listNodes("unspentOutputs");
      if (nodes.length === 0 || !found?.size) return found;
      const { slot } = await reads.latestBlock();
      const indexes = [...found.keys()];
      const ask = (node: NodeCalls) => node.unspentOutputs(txHash, indexes, slot);
      const unspent = await askInOrder(nodes, "evaluate", ask, signal).catch(returnNone);
      return new Map([...found].filter(([index]) => !unspent.includes(index)));
    },
    evaluate: (...asked) =>
      askInOrder(
        orderByHealth(members, "evaluate"),
        "evaluate",
        (provider) => provider.evaluate(...asked),
        signal,
      ),
    submit: createParallelSubmitter(members),
  };
}

type NodeCalls = Pick<Provider, "protocolParameters"> & LedgerState;

const noop = () => undefined;
/** A node that does not answer has no say. */
const returnNone = (): number[] => [];
const NONE_ERROR = new ProviderError("provider: the payment source has none for this", {
  permanent: true,
});

/** Asks one provider, and reports what that says of it. */
async function ask<T>(
  member: ProviderMember,
  purpose: ProviderPurpose,
  call: (provider: Provider & LedgerState) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    const answer = await call(member.provider as Provider & LedgerState);
    await member.report(purpose, null);
    return answer;
  } catch (error) {
    const isTelling = isOutage(error) || isUnserved(error);
    if (isTelling && !signal?.aborted) await member.report(purpose, error as ProviderError);
    throw error;
  }
}

/** The first answer. @throws the first failure when nobody answers */
async function askInOrder<T>(
  members: readonly ProviderMember[],
  purpose: ProviderPurpose,
  call: (provider: Provider & LedgerState) => Promise<T>,
  signal?: AbortSignal,
  onAnswer?: (i: number) => void,
): Promise<T> {
  let failure: unknown = null;
  for (const [i, member] of members.entries())
    try {
      const answer = await ask(member, purpose, call, signal);
      onAnswer?.(i);
      return answer;
    } catch (error) {
      if (!isSkippable(error)) throw error;
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
    const answers = places.map((member) =>
      ask(member, "submit", ({ submit }) => submit(cbor)).catch((error: unknown) => {
        if (error instanceof ProviderError) return error;
        throw error;
      }),
    );
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

/**
 * Those that work in their order, then those whose calls for the purpose failed. One that is known to lack
 * such calls is left out, unless all are: an answer that says so may be a proxy's.
 */
function orderByHealth(
  members: readonly ProviderMember[],
  purpose: ProviderPurpose,
): ProviderMember[] {
  const able = members.filter(({ purposes }) => purposes.includes(purpose));
  const serving = able.filter(({ outages }) => !isLacking(outages[purpose], Date.now()));
  const candidates = serving.length > 0 ? serving : able;
  return [
    ...candidates.filter((member) => isUsable(member, purpose)),
    ...candidates.filter((member) => !isUsable(member, purpose)),
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
export function isUnserved(error: unknown): boolean {
  return error instanceof ProviderError && error.status === 404 && error.permanent;
}

/**
 * Whether a failed call says that the provider does not work. Our own budget says nothing of it, nor what
 * a node does not know. A 400 and a 413 are about what was asked, which callers choose.
 */
function isOutage(error: unknown): boolean {
  if (!isSkippable(error) || isUnserved(error)) return false;
  if (error.status === 400 || error.status === 413) return false;
  return !(
    error instanceof CallBudgetExhaustedError || error instanceof EvaluationUnavailableError
  );
}
