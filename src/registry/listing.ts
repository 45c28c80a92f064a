import {
  type Block,
  type Provider,
  ProviderError,
  type TransactionPosition,
} from "../chain/provider.ts";
import { type ChainTransaction, decodeTransaction } from "../chain/transaction.ts";
import { log } from "../log.ts";
import { ProviderBehind } from "../sources/checkpoints.ts";
import { type MintPosition, PAGE, type RegistryCursor } from "./cursor.ts";

/** A transaction that minted or burned under a policy, as it is listed. */
export interface ListedMint {
  txHash: string;
  /** See `MintPosition`. */
  ordinal: number;
}

/** A transaction that minted or burned under a policy, read. */
export interface ReadMint {
  at: TransactionPosition;
  position: MintPosition;
  tx: ChainTransaction;
}

/**
 * Lists the mints and burns of a policy after the cursor. The listing starts some blocks before it
 * and is held against what was done there. At least the next hundred are in it, if there are so many.
 *
 * @throws ProviderBehind when one that was done is not where it was
 */
export async function listPending(
  provider: Provider,
  policyId: string,
  { recent }: Pick<RegistryCursor, "recent">,
): Promise<ListedMint[]> {
  const done = new Map(recent.map(([, , hash, ordinal]) => [ordinal, hash]));
  const start = recent[0]?.[3] ?? 0;
  const listed: ListedMint[] = [];
  const doneHashes = new Set(done.values());
  let pending = 0;
  let end = start;
  for (let page = Math.floor(start / PAGE) + 1, more = true; more && pending < PAGE; page++) {
    const rows = await provider.scriptRedeemers(policyId, { page, count: PAGE });
    if (rows === null) {
      if (recent.length > 0)
        throw new ProviderBehind("provider: does not know the policy any more");
      return [];
    }
    more = rows.length === PAGE;
    end = (page - 1) * PAGE + rows.length;
    for (const [i, { txHash, purpose }] of rows.entries()) {
      const ordinal = (page - 1) * PAGE + i;
      if (ordinal < start || purpose !== "mint") continue;
      listed.push({ txHash, ordinal });
      if (!doneHashes.has(txHash)) pending++;
    }
  }

  const shown = new Map(listed.map(({ txHash, ordinal }) => [ordinal, txHash]));
  for (const [ordinal, hash] of done)
    if (shown.get(ordinal) !== hash && ordinal < end)
      throw new ProviderBehind(`provider: lists another transaction in place of ${hash}`);
    else if (ordinal >= end)
      throw new ProviderBehind(`provider: does not list transaction ${hash} any more`);
  return listed.filter(({ txHash }) => !doneHashes.has(txHash));
}

/** Requests under way at once: an invocation has six connections, and D1 wants one. */
const PARALLEL = 2;

/**
 * Reads transactions in order, up to the newest block that counts. When one cannot be read, or the
 * time is over, those before it are returned, so that work done is kept; the error of the first is
 * thrown.
 *
 * @param newest - height of the newest block that has the confirmations asked for
 */
export async function readMints(
  provider: Provider,
  listed: ListedMint[],
  newest: number,
  isOver: () => boolean,
): Promise<ReadMint[]> {
  const good: ReadMint[] = [];
  for (let i = 0; i < listed.length && (i === 0 || !isOver()); i += PARALLEL) {
    const results = await Promise.allSettled(
      listed.slice(i, i + PARALLEL).map((one) => readMint(provider, one)),
    );
    for (const result of results) {
      if (result.status === "fulfilled" && result.value.at.blockHeight <= newest) {
        good.push(result.value);
        continue;
      }
      if (result.status === "rejected" && good.length === 0) throw result.reason;
      return good;
    }
  }
  return good;
}

async function readMint(provider: Provider, { txHash, ordinal }: ListedMint): Promise<ReadMint> {
  const [at, cbor] = await Promise.all([
    provider.transaction(txHash),
    provider.transactionCbor(txHash),
  ]);
  if (at === null || cbor === null)
    throw new ProviderBehind(`provider: does not have transaction ${txHash}`);
  return {
    at,
    position: [at.blockHeight, at.txIndex, txHash, ordinal],
    tx: decode(txHash, cbor),
  };
}

/**
 * The hash is taken from the bytes, so a provider cannot hand us another transaction's. Bytes that
 * the ledger accepted and we cannot read must not stop the source: they are logged and do nothing.
 */
function decode(txHash: string, cbor: string): ChainTransaction {
  let tx: ChainTransaction;
  try {
    tx = decodeTransaction(cbor);
  } catch (error) {
    log("error", "registry.transaction_unreadable", { tx: txHash, error: String(error) });
    return UNREADABLE;
  }
  if (tx.hash !== txHash)
    throw new ProviderError(`provider: sent another transaction for ${txHash}`);
  return tx;
}

const UNREADABLE: ChainTransaction = {
  hash: "",
  inputs: [],
  outputs: [],
  fee: 0n,
  validFrom: null,
  validTo: null,
  spendRedeemers: [],
  redeemerCount: 0,
  mint: [],
  metadata: new Map(),
  isValid: false,
};

/** Fails unless the chain that was read from is still the one that the tip was read of. */
export async function requireSameChain(provider: Provider, tip: Block): Promise<void> {
  const again = await provider.block(tip.height);
  if (again?.hash !== tip.hash)
    throw new ProviderBehind(`provider: block ${tip.height} changed while it was read`);
}
