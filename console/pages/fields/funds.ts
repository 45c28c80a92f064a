/** Amounts of tokens, as rows of a form. */
import type { Field } from "../../ui/resource.ts";
import { UNITS } from "./known-ids.ts";

export const tokenField: Field = {
  name: "unit",
  label: "Token",
  knownIds: UNITS,
  isEmptySent: true,
  hint: "A ticker, or policy id and asset name in hex.",
};

/** An amount of the row's token. */
export const createAmountField = (name: string, label = "Amount"): Field => ({
  name,
  label,
  as: "amount",
  unitFrom: "unit",
  isRequired: true,
});
