/**
 * A contract without rules, as a stranger may publish one, escrow and policy in one: what follows a
 * contract has to stand steps that those of the default deployment refuse, several mints of one name,
 * or mints and burns together.
 */
import { unit } from "./plutus/constants.ts";
import { type Data, lambda, type Term } from "./plutus/terms.ts";

/** A function of the script context. */
export const OPEN = lambda((_context: Term<Data>) => unit);
