import type { Field } from "../../ui/resource.ts";
import { AUTOMATION_MODE_HINT, AUTOMATION_MODES } from "./choices.ts";

/** What may be done with a source or a wallet. */
export const automationModeField: Field = {
  name: "drives",
  label: "Automation",
  as: "choice",
  choices: AUTOMATION_MODES,
  from: "drives",
  initial: "all",
  isRequired: true,
  hint: AUTOMATION_MODE_HINT,
};
