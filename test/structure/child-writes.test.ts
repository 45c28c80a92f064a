import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

/**
 * The statements that write rows of escrows: whoever moves an escrow to an archive compares its revision alone, so
 * the batch of each raises it. The stories of test/model and the probes of test/scope fail for one that does not.
 */
const STATEMENTS = [
  // The story of an erasure in test/scope.
  ["src/erasure/erasures.ts", "UPDATE escrow_request"],
  // In the batch that makes the record.
  ["src/escrow/purchases/charges.ts", "UPDATE escrow_request"],
  ["src/escrow/terms/create-record.ts", "INSERT INTO escrow_request"],
  // A change set writes each record of which it writes a row, in one batch.
  ["src/escrow/store/write-changes.ts", "insertRows(escrowAction"],
  ["src/escrow/store/write-changes.ts", "insertRows(escrowTransaction"],
  ["src/escrow/store/write-changes.ts", "UPDATE escrow_request"],
  ["src/escrow/sync/commit-changes.ts", "DELETE FROM escrow_action"],
  ["src/escrow/sync/commit-changes.ts", "DELETE FROM escrow_transaction"],
  ["src/escrow/sync/commit-changes.ts", "UPDATE escrow_transaction"],
];

const WRITE_PATTERN =
  /(?:INSERT(?: OR \w+)? INTO|REPLACE INTO|UPDATE|DELETE FROM) escrow_(?:action|request|transaction)\b|\.(?:insert|update|delete)\(escrow(?:Action|Request|Transaction)\)|insertRows\(\s*escrow(?:Action|Request|Transaction)\b/g;

it("Each statement that writes a row of an escrow is known, and raises the escrow's revision", () => {
  const found = globSync("{src,durable-objects}/**/*.ts").flatMap((file) =>
    Array.from(readFileSync(file, "utf8").matchAll(WRITE_PATTERN), ([write]) => [
      file,
      write.replace(/\(\s+/, "("),
    ]),
  );
  const toText = (all: string[][]) => all.map((one) => one.join(": ")).sort();
  expect(toText(found)).toEqual(toText(STATEMENTS));
});
