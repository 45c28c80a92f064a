import { isExpected } from "../../isolate.ts";
import type { TransactionPart } from "../../work.ts";
import { type Composed, compose, type Frame, type Purse } from "./compose.ts";
import { BadMembers, type Member } from "./members.ts";

/** @throws as `compose`; BadMembers: one whose part is in no transaction, whatever else is in it */
export function composeMembers(
  members: readonly Member[],
  parts: readonly TransactionPart[],
  purse: Purse,
  frame: Frame,
): Composed {
  const thrownFor = (some: readonly TransactionPart[]): unknown => {
    try {
      compose(some, purse, frame);
    } catch (error) {
      if (!isExpected(error)) return error;
    }
    return null;
  };
  try {
    return compose(parts, purse, frame);
  } catch (error) {
    if (isExpected(error)) throw error;
    for (const [i, part] of parts.entries()) {
      const own = thrownFor([part]);
      const member = members[i];
      if (own && member) throw new BadMembers([member], own);
    }
    throw error;
  }
}
