import { type EscrowRecord, lockOf } from "../record.ts";

export type Party = "buyer" | "seller";

type Parties = Pick<EscrowRecord, "state" | "terms">;

/**
 * The address that a contract of Web3ChainV2 pays a party's part to: its return address, else its own;
 * null: nobody knows it yet. On Web3ChainV1, which knows no return addresses, it is the party's own.
 */
export function payeeOf(record: Parties, party: Party): string | null {
  const parties = { ...record.terms, ...lockOf(record) };
  return parties[`${party}ReturnAddress`] ?? parties[party];
}

/**
 * Whether both parties are paid at one address. The contract looks at each party's part by itself, so that
 * there one output counts for both.
 */
export function sharesPayee(record: Parties): boolean {
  return payeeOf(record, "buyer") === payeeOf(record, "seller");
}
