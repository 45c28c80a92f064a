import type { TransactionPart } from "../../queue/feature.ts";
import { isExpected } from "../../queue/isolate.ts";
import {
  type ComposedTransaction,
  compose,
  type FundingSource,
  type TransactionFrame,
} from "./compose.ts";
import { BadMembersError, type Member } from "./members.ts";

/** @throws as `compose`; BadMembersError: one whose part is in no transaction, whatever else is in it */
export function composeMembers(
  members: readonly Member[],
  parts: readonly TransactionPart[],
  funding: FundingSource,
  frame: TransactionFrame,
): ComposedTransaction {
  const thrownFor = (some: readonly TransactionPart[]): unknown => {
    try {
      compose(some, funding, frame);
    } catch (error) {
      if (!isExpected(error)) return error;
    }
    return null;
  };
  try {
    return compose(parts, funding, frame);
  } catch (error) {
    if (isExpected(error)) throw error;
    for (const [i, part] of parts.entries()) {
      const own = thrownFor([part]);
      const member = members[i];
      if (own && member) throw new BadMembersError([member], own);
    }
    throw error;
  }
}
