/** What a form says of the choices that are selected. */
import { expect, test } from "vitest";
import { EVENT_KINDS } from "../../console/pages/fields/choices.ts";
import { summarizeChoices } from "../../console/ui/choice-summary.ts";
import { toWords } from "../../console/ui/words.ts";

const options = EVENT_KINDS.map((id) => ({ id, label: toWords(id), detail: "" }));

test("the selected choices are counted and named", () => {
  expect(summarizeChoices(options, ["ARCHIVE_BEHIND", "PAYMENT_ON_ERROR"])).toBe(
    `2 of ${options.length}: Payment: error, Service: archive set back`,
  );
});

test("a list of which none or all choices are selected is not named", () => {
  expect(summarizeChoices(options, [])).toBe("");
  expect(summarizeChoices(options, EVENT_KINDS)).toBe(`All ${options.length} are selected.`);
});
