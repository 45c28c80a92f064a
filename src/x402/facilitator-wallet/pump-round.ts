import { classifyBroadcast } from "../evm/classify-broadcast.ts";
import { type ChainSnapshot, isLegacyTransaction, readChainSnapshot } from "../evm/transactions.ts";
import type { SettlementJob } from "../model/messages.ts";
import { acceptNodeNonce, isStuck, limitToKnownNonces } from "./nonces.ts";
import { expireJobs, reconcileMinedTransactions, watchDecidedJobs } from "./reconcile-jobs.ts";
import type { Round, SigningWallet } from "./round.ts";
import {
  bumpFee,
  encodeGasEstimate,
  fillNonceGaps,
  listSignableJobs,
  signLegacyReplacements,
  signWaitingJobs,
} from "./sign-jobs.ts";
import type { WalletStore } from "./wallet-store.ts";

/** `busy`: payments wait for the chain. `watching`: all are decided, but a re-org may undo them. */
export type PumpState = "busy" | "watching" | "idle";

/** The node is on a different chain than declared: nothing may be signed or concluded. */
export class WrongChainError extends Error {
  override name = "WrongChainError";
}

/** What the node said of the chain and of the jobs to be signed. */
export interface RoundReading {
  chain: ChainSnapshot;
  estimates: ReadonlyMap<string, unknown>;
  /** Hashes of the transactions whose receipts were read. */
  transactions: string;
}

/** Reads the chain for a round. @throws RpcUnavailableError */
export async function readRound(
  store: WalletStore,
  wallet: SigningWallet,
  jobs: readonly SettlementJob[],
): Promise<RoundReading> {
  const transactions = listUnminedHashes(store);
  const { chain, answers } = await readChainSnapshot(
    wallet.rpc,
    wallet.address,
    store.listUnminedTransactions(),
    store.getValue("only_legacy") !== null,
    jobs.map((job) => encodeGasEstimate(wallet, job)),
  );
  const estimates = new Map(jobs.map((job, i) => [job.id, answers[i]]));
  return { chain, estimates, transactions };
}

function listUnminedHashes(store: WalletStore): string {
  return store
    .listUnminedTransactions()
    .map(({ hash }) => hash)
    .join();
}

/**
 * One round: reads the chain, concludes what it can, signs waiting jobs, and sends in nonce order.
 * The next round resumes from the stored state whatever fails half-way.
 *
 * @param resend - sends again what was sent
 * @param early - what was read a moment ago. The round uses it unless transactions were sent or mined since.
 * @param onReconciled - runs once new receipts are read, so that no caller waits for the rest of the round
 * @throws RpcUnavailableError, WrongChainError
 */
export async function runPumpRound(
  store: WalletStore,
  wallet: SigningWallet,
  resend: boolean,
  early: RoundReading | null,
  onReconciled: () => void,
): Promise<PumpState> {
  if (getPumpState(store) === "idle") return "idle";
  const { chain: reported, estimates } =
    early?.transactions === listUnminedHashes(store)
      ? early
      : await readRound(
          store,
          wallet,
          listSignableJobs(store).map(({ job }) => job),
        );
  if (reported.chainId !== wallet.chainId)
    throw new WrongChainError(
      `the RPC node is on chain ${reported.chainId}, not ${wallet.chainId}`,
    );
  const chain = limitToKnownNonces(store, reported);
  const round: Round = { store, wallet, chain };

  await reconcileMinedTransactions(round);
  onReconciled();
  const reappeared = await watchDecidedJobs(round);
  await expireJobs(round);
  await signLegacyReplacements(round);
  await bumpFee(round);
  await signWaitingJobs(round, estimates);
  await fillNonceGaps(round);
  const isStale = await broadcastTransactions(round, resend || reappeared);
  const [head] = store.listPendingTransactions();
  if (chain.nonce < reported.nonce && (isStale || (head && isStuck(head, chain))))
    acceptNodeNonce(store, reported);

  return getPumpState(store);
}

function getPumpState(store: WalletStore): PumpState {
  if (store.hasOpenJobs("undecided") || store.listPendingTransactions().length > 0) return "busy";
  return store.hasOpenJobs("decided") ? "watching" : "idle";
}

/**
 * Sends unsent transactions in nonce order, and refused ones once per block. From here on the node
 * counts as having them, whatever it answers.
 *
 * @returns whether a new transaction is refused because its nonce is used
 */
async function broadcastTransactions(
  { store, wallet, chain }: Round,
  resend: boolean,
): Promise<boolean> {
  const isNewBlock = store.offeredAtBlock !== chain.blockHash;
  const due = store
    .listPendingTransactions()
    .filter(({ state }) => resend || state === "signed" || (state === "refused" && isNewBlock));
  if (due.length === 0) return false;
  store.offeredAtBlock = chain.blockHash;
  for (const { hash, state } of due)
    if (state === "signed") store.setTransactionState(hash, "sent");
  const answers = await wallet.rpc.callBatch(
    due.map(({ rawTransaction: raw }) => ({ method: "eth_sendRawTransaction", params: [raw] })),
  );
  let isStale = false;
  for (const [i, { hash, rawTransaction: raw, state }] of due.entries()) {
    const outcome = classifyBroadcast(answers[i]);
    const isRefused = outcome === "refused" || outcome === "unsupported";
    // A transaction that was sent before may be in another mempool. A new one is stored as sent already.
    if (state === "signed" && isRefused) store.setTransactionState(hash, "refused");
    if (state === "refused" && !isRefused) store.setTransactionState(hash, "sent");
    if (outcome === "unsupported" && !isLegacyTransaction(raw)) store.setValue("only_legacy", "1");
    isStale ||= state === "signed" && outcome === "stale";
  }
  return isStale;
}
