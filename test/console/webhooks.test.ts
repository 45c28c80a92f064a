/** What the page of webhooks says of events that an endpoint has not received. */
import { expect, test } from "vitest";
import { TODO_KINDS } from "../../console/pages/overview/todo-kinds.ts";
import { webhooksPage } from "../../console/pages/webhooks.ts";
import { formatDate } from "../../console/ui/format.ts";

const [endpoints] = webhooksPage.tabs;
const revive = endpoints?.actions?.find(({ name }) => name === "revive");

test("no text promises events of the time while an endpoint was disabled", () => {
  const texts = [endpoints?.description, revive?.description, TODO_KINDS.endpoint.advice];
  for (const text of texts) {
    expect(text).toMatch(/no event is stored/i);
    expect(text).not.toMatch(/\b(lost|missed)\b/);
  }
  expect(endpoints?.columns.map(({ heading }) => heading)).toContain("Failed or cancelled");
});

test("the form that revives an endpoint shows since when the endpoint was disabled", () => {
  const [since] = revive?.reads ?? [];
  const disabledAt = "2026-11-30T01:00:00.000Z";
  const time = formatDate(Date.parse(disabledAt));
  expect(since?.describe?.({ disabledAt })).toBe(`${time} (${disabledAt})`);
});
