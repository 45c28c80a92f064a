/** Random transactions: the contracts' verdicts are those of the written rules. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { readyContracts } from "../../../devnet/contracts/deployment.ts";
import type { ReadyContracts } from "../../../devnet/contracts/ready.ts";
import { runs } from "../../support/effort.ts";
import type { Draft } from "./drafts.ts";
import { OWN } from "./escrows.ts";
import { evaluateIfAccepted, type Spent } from "./evaluate-draft.ts";
import { isLawful } from "./is-lawful.ts";
import { randomTransaction } from "./random-transactions.ts";

/** Our own programs, and those that `ESCROW_CONTRACTS` names. */
const PROGRAMS: ReadyContracts[] = [...new Set([OWN, readyContracts()])].filter(
  (contracts, i) => i === 0 || Object.keys(contracts).length > 0,
);

/** Allowed difference of costs. Few random transactions differ by more than 10 %. */
const TOLERANCE = 0.15;

/** Whether the spent datum is random, and so may be incomplete. */
const hasOtherDatum = ({ spends }: Draft) =>
  spends.some(({ escrow }) => (escrow as Spent).data !== undefined);

it.each(["Web3ChainV1", "Web3ChainV2"] as const)(
  "%s accepts a transaction exactly if the rules allow it, at similar costs",
  (type) => {
    fc.assert(
      fc.property(randomTransaction(type), ({ draftWith }) => {
        const [own, other = own] = PROGRAMS.map((contracts) => {
          const draft = draftWith(contracts);
          const units = evaluateIfAccepted(draft);
          expect(units !== null).toBe(isLawful(draft));
          return units;
        });
        expect(own === null).toBe(other === null);
        // Our programs do not read incomplete datums in the order of the deployed ones.
        if (!own || !other || hasOtherDatum(draftWith(OWN))) return;
        expect(Math.abs(own.memory / other.memory - 1)).toBeLessThan(TOLERANCE);
        expect(Math.abs(own.steps / other.steps - 1)).toBeLessThan(TOLERANCE);
      }),
      runs(40, 10_000),
    );
  },
);
