import type { Network, PaymentSourceType } from "../chain/network.ts";
import type { AddressTransaction, TransactionUtxos } from "../chain/provider.ts";
import type { ChainTransaction } from "../chain/transaction.ts";

/** One of our wallets, in the role it plays for a source. */
export interface SourceWallet {
  id: string;
  role: "Purchasing" | "Selling";
  /** Payment key hash, hex. */
  vkey: string;
  address: string;
  /** The API key that added it: `requestedById` of its records. */
  createdById: string;
}

/** What sync needs to know of a payment source. */
export interface EscrowSource {
  id: string;
  network: Network;
  type: PaymentSourceType;
  contractAddress: string;
  policyId: string;
  wallets: SourceWallet[];
}

/** A transaction that another one comes after. */
export interface EarlierTransaction {
  tx: ChainTransaction;
  /** Its inputs and outputs with addresses and amounts: one more provider call, made when asked. */
  utxos(): Promise<TransactionUtxos>;
}

/** A transaction of the contract, read. */
export interface ReadTransaction extends EarlierTransaction {
  at: AddressTransaction;
  /** A transaction whose outputs it spends, or one before that. */
  earlier(txHash: string): Promise<EarlierTransaction>;
}
