import {
  type AddressTransaction,
  type Block,
  blockHashAt,
  type Provider,
  type TransactionPosition,
} from "../../chain/provider/provider.ts";
import { formatOutputReference } from "../../chain/transaction/transaction-plan.ts";
import type { Database } from "../../db/client.ts";
import { ProviderBehindError } from "../../indexer/checkpoints.ts";
import { isInChain, type TransactionPhase } from "../../wallets/model/phases.ts";
import { txHashOf } from "../../wallets/model/wallet-transaction.ts";

interface OwnTransactionRow {
  hash: string;
  phase: TransactionPhase;
  /** Base64. */
  cbor: string;
  /** JSON: names of all outputs that it spends. */
  inputs: string;
  /** Index of the output that only a failed script makes: what is left of the collateral. */
  returned: number | null;
  /** Where its wallet has seen it, if it has. */
  blockHeight: number | null;
  blockHash: string | null;
  /** Unix seconds. */
  blockTime: number | null;
}

/**
 * The service's own transactions in a contract's list. Their bytes were stored before they were
 * sent, so the provider need not be asked for them. Bytes do not show whether the script failed in
 * the block. The result is known without a call
 *
 * - if the wallet has seen the transaction in a block: a script's verdict is the same in every
 * block;
 * - if another listed transaction spends its outputs: then the outputs exist.
 *
 * For any other transaction the provider is asked for its position in the block. The last
 * transaction of a run needs the position too, unless its wallet has seen it in a canonical block.
 */
export class OwnTransactions {
  readonly #db: Pick<Database, "all">;
  readonly #provider: Pick<Provider, "transaction">;
  #rows: ReadonlyMap<string, OwnTransactionRow> = new Map();
  #validHashes: ReadonlySet<string> = new Set();
  readonly #positions = new Map<string, TransactionPosition>();

  constructor(db: Pick<Database, "all">, provider: Pick<Provider, "transaction">) {
    this.#db = db;
    this.#provider = provider;
  }

  /**
   * Looks for them among transactions that the contract lists.
   *
   * @param tip - read before they were listed
   */
  async loadListedTransactions(listed: readonly AddressTransaction[], tip: Block): Promise<void> {
    if (listed.length === 0) return;
    const rows = await this.#db.all<OwnTransactionRow>(
      `SELECT hash, phase, cbor, content->'inputs' AS inputs,
         content->>'$.collateral.returned.index' AS returned, block_height AS blockHeight,
         block_hash AS blockHash, block_time AS blockTime
       FROM wallet_transaction JOIN wallet_transaction_content USING (hash)
       WHERE hash IN (SELECT value FROM json_each(?)) AND cbor IS NOT NULL`,
      JSON.stringify(listed.map(({ txHash }) => txHash)),
    );
    this.#rows = new Map(rows.map((row) => [row.hash, row]));
    for (const at of listed) {
      const row = this.#rows.get(at.txHash);
      const place = row && findBlockPosition(row, at, tip);
      if (place) this.#positions.set(at.txHash, place);
    }
    const names = rows.flatMap(({ inputs }) => JSON.parse(inputs) as string[]);
    const spent = Map.groupBy(names, txHashOf);
    this.#validHashes = new Set(
      rows
        .filter((row) => isInChain(row.phase) || isAnyOutputSpent(row, spent))
        .map(({ hash }) => hash),
    );
  }

  /**
   * The bytes of one that did what it says, hex; null: it is not ours, or the provider has to be asked.
   *
   * @throws ProviderError, ProviderBehindError
   */
  async cborOf(hash: string): Promise<string | null> {
    const row = this.#rows.get(hash);
    if (row === undefined) return null;
    if (!this.#validHashes.has(hash) && !(await this.#isValid(hash))) return null;
    return Buffer.from(row.cbor, "base64").toString("hex");
  }

  /** Where a transaction stands, from what is known in this pass, or from the provider. */
  async transaction(hash: string): Promise<TransactionPosition | null> {
    return this.#positions.get(hash) ?? this.#provider.transaction(hash);
  }

  async #isValid(hash: string): Promise<boolean> {
    const place = await this.#provider.transaction(hash);
    if (place === null)
      throw new ProviderBehindError(`provider: does not have transaction ${hash}`);
    this.#positions.set(hash, place);
    return place.validContract;
  }
}

/** Where the wallet has seen one that is listed there, if the tip tells that its block stands. */
function findBlockPosition(
  { hash, phase, blockHeight, blockHash, blockTime }: OwnTransactionRow,
  listed: AddressTransaction,
  tip: Block,
): TransactionPosition | null {
  if (!isInChain(phase) || blockHash === null || blockTime === null) return null;
  const isCanonical =
    blockHeight === listed.blockHeight && blockHashAt(tip, blockHeight) === blockHash;
  const { txIndex } = listed;
  return isCanonical
    ? { hash, blockHash, blockHeight, txIndex, blockTime, validContract: true }
    : null;
}

/** Whether one of the outputs is spent that a transaction makes when its scripts do not fail. */
function isAnyOutputSpent(
  { hash, returned }: OwnTransactionRow,
  spent: ReadonlyMap<string, readonly string[]>,
): boolean {
  const rest = returned === null ? null : formatOutputReference({ txHash: hash, index: returned });
  return (spent.get(hash) ?? []).some((name) => name !== rest);
}
