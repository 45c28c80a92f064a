/**
 * The one door to the chain. Implemented by `blockfrost.ts`; everything above knows only this.
 * Hashes are lower-case hex, heights and indexes are numbers, times are Unix seconds.
 */
export interface Provider {
  /** The block at the tip as this provider sees it now. */
  latestBlock(): Promise<Block>;
  /** The block at a height or with a hash; `null` when the provider does not have it. */
  block(heightOrHash: number | string): Promise<Block | null>;
  /**
   * One page of an address's transactions in ascending chain order, starting at `from`
   * (inclusive block height). `null` when the provider has never seen the address.
   */
  addressTransactions(
    address: string,
    page: { from?: number; page: number; count: number; order?: "asc" | "desc" },
  ): Promise<AddressTransaction[] | null>;
  /** Block and position of a transaction; `null` when the provider does not have it. */
  transaction(hash: string): Promise<TransactionPosition | null>;
  /** The transaction's bytes in hex; `null` when the provider does not have it. */
  transactionCbor(hash: string): Promise<string | null>;
  /** Inputs and outputs with addresses and amounts; `null` when the provider does not have it. */
  transactionUtxos(hash: string): Promise<TransactionUtxos | null>;
}

export interface Block {
  height: number;
  hash: string;
  slot: number;
  /** Unix seconds. */
  time: number;
}

export interface AddressTransaction {
  txHash: string;
  blockHeight: number;
  /** Position in the block. */
  txIndex: number;
  /** Unix seconds. */
  blockTime: number;
}

export interface TransactionPosition {
  hash: string;
  blockHash: string;
  blockHeight: number;
  txIndex: number;
  /** Unix seconds. */
  blockTime: number;
  /** False when phase-2 validation failed and only the collateral was taken. */
  validContract: boolean;
}

export interface ProviderUtxo {
  address: string;
  txHash: string;
  outputIndex: number;
  /** `unit` is `lovelace` for the native coin; quantities are decimal text of minor units. */
  amount: { unit: string; quantity: string }[];
  /** Inline datum, CBOR in hex. */
  inlineDatum: string | null;
  referenceScriptHash: string | null;
}

export interface TransactionUtxos {
  hash: string;
  /** Spent inputs only: collateral and reference inputs are left out. */
  inputs: ProviderUtxo[];
  /** Real outputs only: the collateral return is left out. */
  outputs: ProviderUtxo[];
}

/**
 * A call to the provider failed. `retryAt` (epoch milliseconds) is set when the provider, or our
 * budget, says when to come back. `permanent` errors need an operator: a retry cannot help.
 */
export class ProviderError extends Error {
  override name = "ProviderError";
  readonly status: number | null;
  readonly permanent: boolean;
  readonly retryAt: number | null;

  constructor(
    message: string,
    options: { status?: number; permanent?: boolean; retryAt?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.status = options.status ?? null;
    this.permanent = options.permanent ?? false;
    this.retryAt = options.retryAt ?? null;
  }
}

/** Leases calls before they are made and learns of refusals; see `durable-objects/provider-budget.ts`. */
export interface CallBudget {
  /** Resolves when one call may be made; throws a `ProviderError` with `retryAt` when none may. */
  take(): Promise<void>;
  /** Reports a refusal (402, 418, 429): nobody who uses the same key calls before `until`. */
  refused(until: number): Promise<void>;
}
