import type { Field } from "../../ui/resource.ts";
import { DRIVES, DRIVES_HINT } from "./choices.ts";

/** What may be done with a source or a wallet. */
export const drives: Field = {
  name: "drives",
  label: "Drives",
  as: "choice",
  choices: DRIVES,
  from: "drives",
  initial: "all",
  isRequired: true,
  hint: DRIVES_HINT,
};
