/**
 * The only access to the chain. Implemented by the folders beside this file; everything above knows only this.
 *
 * Each answer is one of three. *Known*: a value. *Absent*: `null`; this provider follows the chain there,
 * and has nothing. *Unknown*: a ProviderError; it does not answer, cannot say, or lacks the capability.
 * Unknown changes nothing. Absent at one provider undoes nothing.
 *
 * Hashes are lower-case hex, heights and indexes are numbers, times are Unix seconds.
 */
export interface Provider extends AssetProvider, TransactionProvider {
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

/** What a provider tells of its network. */
export interface NetworkIdentity {
  /** The magic number of the network's genesis. */
  networkMagic(): Promise<number>;
}

/** What a node tells of its ledger at its tip, without a history. */
export interface LedgerState {
  /**
   * Which outputs of a transaction are unspent. The others are spent, or unknown to the node.
   *
   * @param slot - of a block that the node must have
   * @throws ProviderError, also without that block
   */
  unspentOutputs(txHash: string, indexes: readonly number[], slot: number): Promise<number[]>;
}

/** The provider's data on minting policies, tokens and addresses. */
export interface AssetProvider {
  /**
   * One page of a script's redeemers in ascending chain order, failed transactions included: every
   * mint and burn of a policy has one. `null` when the provider has never seen the script.
   */
  scriptRedeemers(
    scriptHash: string,
    page: { page: number; count: number },
  ): Promise<{ txHash: string; purpose: string }[] | null>;
  /** The holders of a token, latest first; `null` when the provider has never seen it. */
  assetHolders(unit: string): Promise<{ address: string; quantity: string }[] | null>;
  /** Hash of the transaction that minted a token last; `null` when the provider has never seen it. */
  assetMint(unit: string): Promise<string | null>;
  /** The balance of an address; `null` when the provider has never seen it. */
  addressFunds(address: string): Promise<{ unit: string; quantity: string }[] | null>;
  /** One page of an address's unspent outputs; `null` when the provider has never seen it. */
  addressOutputs(
    address: string,
    page: { page: number; count: number; order: "asc" | "desc" },
  ): Promise<AddressOutput[] | null>;
}

/** An unspent output, and where it stands. */
export interface AddressOutput extends ProviderUtxo {
  /** Of a datum that the output has, or only names. */
  dataHash: string | null;
  /** Hash of its block. */
  block: string;
}

/** What is needed to build and send transactions. */
export interface TransactionProvider {
  /** The unspent outputs of an address, the newest first and a thousand at most; none when it was never seen. */
  addressUtxos(address: string): Promise<ProviderUtxo[]>;
  /**
   * What has spent the outputs of a transaction: hashes by the outputs' indexes. `null` when the provider
   * does not have the transaction, or its list is too large to be read.
   */
  spenders(txHash: string): Promise<ReadonlyMap<number, string> | null>;
  /** A Plutus script as witnesses carry it, hex; `null` when the provider has never seen it. */
  scriptCbor(scriptHash: string): Promise<string | null>;
  /** The current protocol parameters. */
  protocolParameters(): Promise<ProtocolParameters>;
  /**
   * Runs the scripts of a transaction that need not be signed.
   *
   * @param additional - outputs that the node may not know yet
   * @returns what each redeemer used, by purpose and index, such as `mint:0`
   * @throws ScriptFailedError when one of them fails; EvaluationUnavailableError when the node could not
   *   run them; ProviderError, `permanent` when the node cannot interpret the transaction
   */
  evaluate(
    cbor: Uint8Array,
    additional?: readonly AdditionalOutput[],
  ): Promise<Map<string, ExecutionUnits>>;
  /**
   * Submits a signed transaction to the network, once. When it throws, it is unknown whether the
   * network has it.
   *
   * @returns the reason in full when the node refused it, `null` when it accepted it
   */
  submit(cbor: Uint8Array): Promise<{ refused: string } | null>;
}

/** An output without a datum, of a transaction that is in no block yet. */
export interface AdditionalOutput {
  txHash: string;
  index: number;
  address: string;
  /** Minor units by unit; `""` is the native coin. */
  value: ReadonlyMap<string, bigint>;
}

/** What a script may use, or has used. */
export interface ExecutionUnits {
  memory: bigint;
  steps: bigint;
}

/** Parameters for fees, deposits and script data. Amounts are native minor units. */
export interface ProtocolParameters {
  /** Per byte of a transaction, and for each transaction. */
  feePerByte: bigint;
  feeConstant: bigint;
  /** Price of a unit: decimal text or a ratio of two numbers, such as `577/10000`, exact. */
  priceMemory: string;
  priceSteps: string;
  /** The same of a byte of a script that is read from an output. */
  pricePerReferenceByte: string;
  /** Of the fee. */
  collateralPercent: bigint;
  /** Outputs that may be at stake together. */
  maxCollateralInputs: number;
  /** Deposit for a byte of an output. */
  coinsPerByte: bigint;
  /** Bytes. */
  maxTransactionSize: number;
  /** Of an output's value alone. */
  maxValueSize: number;
  /** What all scripts of a transaction may use. */
  maxUnits: ExecutionUnits;
  /** Cost model of Plutus V3. */
  plutusV3Costs: readonly bigint[];
}

/** The node ran a transaction's scripts and rejected it: only another one can succeed. */
export class ScriptFailedError extends Error {
  override name = "ScriptFailedError";
  /** The node's own words in full, for the log alone. */
  readonly detail: string;
  /** Those that failed, by purpose and index, such as `spend:0`; none when the node does not say. */
  readonly redeemers: readonly string[];

  constructor(detail: string, redeemers: readonly string[] = []) {
    super("a script of the transaction refuses it: the log has the node's words");
    this.detail = detail;
    this.redeemers = redeemers;
  }
}

export interface Block {
  height: number;
  hash: string;
  /** Of the block before it; left out where the provider does not tell it. */
  previousHash?: string;
  slot: number;
  /** Unix seconds. */
  time: number;
}

/** The hash of the block at a height, as far as the tip tells it without a call. */
export function blockHashAt(tip: Block, height: number): string | undefined {
  if (height === tip.height) return tip.hash;
  return height === tip.height - 1 ? tip.previousHash : undefined;
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
  /** Spent inputs only: collateral and reference inputs are omitted. */
  inputs: ProviderUtxo[];
  /** Actual outputs only: the collateral return is omitted. */
  outputs: ProviderUtxo[];
}

/**
 * A call to the provider failed. `retryAt` (epoch milliseconds) is set when the provider, or our
 * budget, says when to retry. `permanent` errors need an operator: a retry cannot help.
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

/** A provider's answer was larger than any that is read: another one may be asked for less. */
export class ResponseTooLargeError extends ProviderError {
  override name = "ResponseTooLargeError";
}

/** The budget of the provider's key has no calls for this use now: the provider was not asked. */
export class CallBudgetExhaustedError extends ProviderError {
  override name = "CallBudgetExhaustedError";

  /** @param retryAt - epoch milliseconds */
  constructor(retryAt: number | null) {
    super("provider: no calls left for now", { status: 429, ...(retryAt !== null && { retryAt }) });
  }
}

/** Why a node could not run scripts. */
export type EvaluationObstacle =
  /** It does not know, or no longer knows, an output that the transaction spends or reads. */
  | "UnknownInput"
  /** It already knows an output that was passed as an additional one. */
  | "AdditionalUtxoOverlap"
  /** It has not followed the chain far enough. */
  | "NotSynced";

/** The node could not run a transaction's scripts, which says nothing about them. */
export class EvaluationUnavailableError extends ProviderError {
  override name = "EvaluationUnavailableError";
  readonly obstacle: EvaluationObstacle;
  /** The node's own words in full, which may name an output; for the log alone. */
  readonly detail: string;

  constructor(obstacle: EvaluationObstacle, detail: string) {
    super(`provider: its node cannot run the scripts: ${OBSTACLE_MESSAGES[obstacle]}`);
    this.obstacle = obstacle;
    this.detail = detail;
  }
}

const OBSTACLE_MESSAGES: Record<EvaluationObstacle, string> = {
  UnknownInput: "it does not know an output that the transaction spends or reads",
  AdditionalUtxoOverlap: "it knew an output already that it was told of",
  NotSynced: "it has not followed the chain far enough",
};

/** Leases calls and records refusals; see `durable-objects/provider-budget.ts`. */
export interface CallBudget {
  /** Resolves when one call may be made; throws a `ProviderError` with `retryAt` when none may. */
  leaseCall(): Promise<void>;
  /** Reports a refusal (402, 418, 429): no user of the same key calls before `until`. */
  reportRefusal(until: number): Promise<void>;
}
