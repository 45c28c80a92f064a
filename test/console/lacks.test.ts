/** What the console says of what a wallet lacks. */
import { expect, test } from "vitest";
import { describeLackReason } from "../../console/pages/wallets/lacks.ts";
import { describeRuleState } from "../../console/pages/wallets/rules.ts";
import { walletsPage } from "../../console/pages/wallets/wallets.ts";
import { readInitialValues } from "../../console/ui/form-values.ts";
import { listMissingFunds } from "../../src/wallets/details/missing-funds.ts";
import type { BalanceRuleRow } from "../../src/wallets/rules/tables.ts";

test("a balance rule is named by its threshold, and not by its id", () => {
  const rule = { id: "01m8m0", unit: "", threshold: "15000000", enabled: true } as BalanceRuleRow;
  const [lack] = listMissingFunds("addr_test1", [rule], new Map([["", 12_000_000n]]));
  expect(lack).toMatchObject({ amount: "3000000" });
  expect(describeLackReason(lack)).toBe("a balance rule warns below 15 ADA");
});

test("another reason stays as the API tells it", () => {
  expect(describeLackReason({ unit: "", reason: "for a task that waits" })).toBe(
    "for a task that waits",
  );
});

test("a changed rule is not checked yet, which needs no decision", () => {
  expect(describeRuleState("status")({ status: "Unknown" })).toBe("Not checked yet");
  expect(describeRuleState("status")({ status: "Low" })).toBe("Low");
});

test("the form that funds a wallet begins with what the wallet lacks", () => {
  const Missing = [
    { unit: "ab".repeat(28), amount: "7" },
    { unit: "", amount: "3500000" },
  ];
  const fund = walletsPage.tabs[0]?.actions?.find(({ name }) => name === "fund");
  expect(readInitialValues(fund?.fields ?? [], { Missing })).toMatchObject({
    minorUnitAmount: "3.5",
  });
  expect(readInitialValues(fund?.fields ?? [], {})).toMatchObject({ minorUnitAmount: "" });
  const little = { Missing: [{ unit: "", amount: "500000" }] };
  // The service refuses a smaller payment.
  expect(readInitialValues(fund?.fields ?? [], little)).toMatchObject({ minorUnitAmount: "2" });
});
