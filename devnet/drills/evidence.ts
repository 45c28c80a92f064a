/** What the chain itself says of what was asked for, and whether records agree with it. */
import { isDeepStrictEqual } from "node:util";
import { decodeBlockchainIdentifier } from "../../src/chain/contracts/blockchain-identifier.ts";
import { decodeEscrowDatum } from "../../src/chain/contracts/escrow-datum.ts";
import { type ApiAccess, ask } from "../client/api.ts";
import { contracts } from "../contracts/index.ts";
import type { Chain } from "../ledger/chain.ts";
import type { LedgerTransaction } from "../ledger/transaction.ts";

const PAGE = 100;

/** What a record and the chain have in common, as text. */
export type Facts = Map<string, string>;

/** An escrow as it lies at a contract. */
interface EscrowOutput {
  /** The seller's, by which an escrow keeps its name. */
  signature: string;
  /** Native minor units. */
  amount: bigint;
}

/** The escrows in a transaction's outputs. */
export function escrowsOf({ produced }: Pick<LedgerTransaction, "produced">): EscrowOutput[] {
  return produced.flatMap(({ output }) => {
    const contract = contracts().find(({ address }) => address === output.address);
    if (!contract || output.inlineDatum === null) return [];
    const { type: version, address: contractAddress } = contract;
    const context = { version, network: "Preprod", contractAddress } as const;
    const decoded = decodeEscrowDatum(output.inlineDatum, context);
    if (!decoded.ok) return [];
    const native = output.amount.find(({ unit }) => unit === "lovelace");
    const { referenceSignature: signature } = decoded.datum;
    return [{ signature, amount: native?.quantity ?? 0n }];
  });
}

/** How many transactions have locked funds, by the signature in an identifier. */
export function locksOnChain(chain: Chain): Map<string, number> {
  const locks = new Map<string, number>();
  const view = chain.view();
  for (const { address } of contracts()) {
    const transactions = new Set(view.addresses.get(address)?.transactions.map(({ tx }) => tx));
    for (const tx of transactions) {
      const isStep = tx.spent.some((one) => view.output(one)?.output.address === address);
      if (isStep) continue;
      for (const { signature } of escrowsOf(tx))
        locks.set(signature, (locks.get(signature) ?? 0) + 1);
    }
  }
  return locks;
}

/** The name by which `locksOnChain` counts an identifier. */
export function signatureOf(blockchainIdentifier: string): string {
  const decoded = decodeBlockchainIdentifier(blockchainIdentifier);
  if (!decoded) throw new Error(`no identifier: ${blockchainIdentifier}`);
  return decoded.signature;
}

/** Native minor units that lie at an address. */
export function heldAt(chain: Chain, address: string): bigint {
  return chain
    .utxosAt(address)
    .flatMap(({ amount }) => amount)
    .reduce((sum, { unit, quantity }) => sum + (unit === "lovelace" ? quantity : 0n), 0n);
}

/** Tokens of all policies of the contracts that lie at an address. */
export function tokensAt(chain: Chain, address: string): number {
  const policies = contracts().map(({ policy }) => policy.hash);
  return chain
    .utxosAt(address)
    .flatMap(({ amount }) => amount)
    .filter(({ unit }) => policies.some((policy) => unit.startsWith(policy))).length;
}

/** What a service's records say of the chain, by side and identifier; those that it has not seen there are left out. */
export async function factsOf(service: ApiAccess): Promise<Facts> {
  const facts: Facts = new Map();
  for (const side of ["payment", "purchase"] as const)
    for (const record of await readRecords<ShownRecord>(service, side, "&includeHistory=true"))
      if (record.onChainState !== null)
        facts.set(`${side} ${record.blockchainIdentifier}`, JSON.stringify(factsOfRecord(record)));
  return facts;
}

/** All records of a side, the newest first. @param query - more of the query, which begins with `&` */
export async function readRecords<ApiRecord extends { id: string }>(
  service: ApiAccess,
  side: "payment" | "purchase",
  query = "",
): Promise<ApiRecord[]> {
  const all: ApiRecord[] = [];
  for (;;) {
    const last = all.at(-1);
    const cursor = last ? `&cursorId=${last.id}` : "";
    const path = `/${side}?network=Preprod&limit=${PAGE}${query}${cursor}`;
    const [page = []] = Object.values(await ask<Record<string, ApiRecord[]>>(service, "GET", path));
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}

/** Where two services see something else on the chain. */
export function differences(one: Facts, other: Facts): string[] {
  const names = [...new Set([...one.keys(), ...other.keys()])];
  return names
    .filter((name) => !isDeepStrictEqual(one.get(name), other.get(name)))
    .map((name) => `${name.slice(0, 60)}…: ${one.get(name)} / ${other.get(name)}`);
}

interface ShownRecord {
  id: string;
  blockchainIdentifier: string;
  onChainState: string | null;
  resultHash: string | null;
  WithdrawnForSeller: object[];
  WithdrawnForBuyer: object[];
  TransactionHistory: { txHash: string; status: string }[] | null;
}

function factsOfRecord(record: ShownRecord): object {
  const { onChainState, resultHash, WithdrawnForSeller, WithdrawnForBuyer } = record;
  const confirmed = (record.TransactionHistory ?? [])
    .filter(({ status }) => status === "Confirmed")
    .map(({ txHash }) => txHash)
    .sort();
  return { onChainState, resultHash, WithdrawnForSeller, WithdrawnForBuyer, confirmed };
}
