import type { TransactionPart } from "../../queue/feature.ts";
import { isExpectedError } from "../../queue/isolate-failures.ts";
import {
  type ComposedTransaction,
  composeTransaction,
  type FundingSource,
  type TransactionFrame,
} from "./compose-transaction.ts";
import { BadMembersError, type TransactionMember } from "./exclude-bad-members.ts";

/** @throws as `compose`; BadMembersError: one whose part is in no transaction, whatever else is in it */
export function composeMembers(
  members: readonly TransactionMember[],
  parts: readonly TransactionPart[],
  funding: FundingSource,
  frame: TransactionFrame,
): ComposedTransaction {
  const findUnexpectedError = (some: readonly TransactionPart[]): unknown => {
    try {
      composeTransaction(some, funding, frame);
    } catch (error) {
      if (!isExpectedError(error)) return error;
    }
    return null;
  };
  try {
    return composeTransaction(parts, funding, frame);
  } catch (error) {
    if (isExpectedError(error)) throw error;
    for (const [i, part] of parts.entries()) {
      const own = findUnexpectedError([part]);
      const member = members[i];
      if (own && member) throw new BadMembersError([member], own);
    }
    throw error;
  }
}
