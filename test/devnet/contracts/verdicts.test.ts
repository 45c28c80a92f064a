/// <reference types="vite/types/importMeta.d.ts" />
/**
 * The verdict table of the escrow contracts: lawful transactions, and transactions with one fault.
 * The rule that is broken refuses a faulty one, which is accepted without the fault.
 */
import { describe, expect, it } from "vitest";
import { RULES, type Rule } from "../../../devnet/contracts/rules.ts";
import { sampled, sampledOfEach } from "../../support/effort.ts";
import { expectedOf, type Row, verdictOf, verdictOfLawful } from "./cases.ts";
import { DISPUTE_ROWS } from "./rows/disputes.ts";
import { REFUND_SIDE_ROWS } from "./rows/refunds.ts";
import { SUBMIT_ROWS } from "./rows/submit.ts";
import { OTHER_ROWS } from "./rows/together.ts";
import { WITHDRAWAL_ROWS } from "./rows/withdrawals.ts";

const SUBJECTS = [
  { subject: "submitting a result", rows: SUBMIT_ROWS },
  { subject: "refunds", rows: REFUND_SIDE_ROWS },
  { subject: "withdrawing", rows: WITHDRAWAL_ROWS },
  { subject: "disputes", rows: DISPUTE_ROWS },
  { subject: "several escrows, and the ledger", rows: OTHER_ROWS },
];
const GENERATIONS = [
  { generation: 1, type: "Web3ChainV1" },
  { generation: 2, type: "Web3ChainV2" },
] as const;

const rowsOf = (rows: readonly Row[], generation: 1 | 2) =>
  rows.filter(({ on = generation }) => on === generation);

for (const { generation, type } of GENERATIONS)
  describe.each(SUBJECTS)(`${type}, $subject`, ({ rows }) => {
    const own = rowsOf(rows, generation);
    const refused = own.filter((row) => row.refused !== undefined);
    const accepted = own.filter((row) => row.refused === undefined);

    it.each(sampled(6, accepted))("accepts $id: $title", (row) => {
      expect(verdictOf(type, row)).toBe("accepted");
    });

    it.each(sampledOfEach(6, refused, ({ refused: by }) => JSON.stringify(by)))(
      "refuses $id by its rule: $title",
      (row) => {
        expect(verdictOf(type, row)).toBe(expectedOf(row));
        expect(verdictOfLawful(type, { ...row, ...row.right })).toBe("accepted");
      },
    );
  });

/** A verdict of the deployed contracts. */
interface DeployedVerdict {
  /** Generation and id. */
  id: string;
  contract: string;
  last: string;
  accepted: boolean;
}

const ROWS = SUBJECTS.flatMap(({ rows }) => rows);
const OURS: ReadonlyMap<string, Row> = new Map(
  GENERATIONS.flatMap(({ generation }) =>
    rowsOf(ROWS, generation).map((row) => [`${generation}.${row.id}`, row]),
  ),
);

it("has each id once in a generation", () => {
  const ids = GENERATIONS.flatMap(({ generation }) => rowsOf(ROWS, generation));
  expect(OURS.size).toBe(ids.length);
});

it("has a row that is refused by each rule of the escrow contracts", () => {
  const refusing = new Set(ROWS.map(({ refused }) => refused));
  const missing = Object.keys(RULES).filter(
    (rule) => !rule.startsWith("mint") && !refusing.has(rule as Rule),
  );
  expect(missing).toEqual([]);
});

// Kept outside of this repository; a clone without them checks the same rows.
const [deployed] = Object.values(
  import.meta.glob<{ rows: DeployedVerdict[] }>(
    "../../../../shared/vectors/contract-verdicts.json",
    {
      eager: true,
      import: "default",
    },
  ),
);
if (deployed)
  it.each(deployed.rows)(
    "says to $id what the deployed contract says: $last",
    ({ id, accepted }) => {
      const row = OURS.get(id);
      if (!row) throw new Error(`no row ${id}`);
      expect(row.refused === undefined).toBe(accepted);
    },
  );
else console.info("../shared/vectors/contract-verdicts.json is not here: not compared");
