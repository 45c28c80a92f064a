/** What the audit log says of the targets of its entries. */
import { expect, test } from "vitest";
import {
  describeActor,
  describeTarget,
  formatAuditAction,
} from "../../console/pages/audit-targets.ts";
import { AUDIT_ACTIONS } from "../../console/pages/fields/choices.ts";
import { LIST_PAGES } from "../../console/pages/lists.ts";

const ID = "01m80ye14arhma0jvpxvf6nc73";

test.each(AUDIT_ACTIONS)("the target of %s is named, and its page has the tab", (action) => {
  const { what, page, pageId, query } = describeTarget({ action, target: ID });
  expect(what).toMatch(/^(API|[A-Z][a-z-]+)( [a-z]+)*$/);
  if (page === undefined) return expect(action).toMatch(/(delete|remove)$/);
  if (page === "payment" || page === "purchase") return expect(pageId).toBe(ID);
  const tabs = LIST_PAGES.find(({ name }) => name === page)?.tabs.map(({ name }) => name);
  expect(tabs).toContain(query.tab ?? tabs?.[0]);
});

test("an action of x402 is named as its list is", () => {
  expect(formatAuditAction("x402-payment-source.create")).toBe("Resource: create");
  expect(formatAuditAction("webhook.rotate-secret")).toBe("Webhook: rotate secret");
});

test("the key of an entry leads to its page, where an operator can revoke it", () => {
  expect(describeActor({ apiKeyId: ID })).toMatchObject({ page: "keys", query: { on: ID } });
  expect(describeActor({ apiKeyId: "env-admin" }).label).toBe("Key of the deployment");
});

test("a rate is named by its unit, currency and month", () => {
  const rate = describeTarget({ action: "invoice-rate.store", target: "2026-11 EUR " });
  expect(rate).toMatchObject({ what: "Rate", label: "ADA in EUR, 2026-11" });
});
