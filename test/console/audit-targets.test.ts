/** What the audit log says of the targets of its entries. */
import { expect, test } from "vitest";
import {
  describeActor,
  describeTarget,
  formatAuditAction,
} from "../../console/pages/audit-targets.ts";
import { LIST_PAGES } from "../../console/pages/lists.ts";
import { AUDIT_ACTIONS } from "../../src/http/audit-actions.ts";

const ID = "01m80ye14arhma0jvpxvf6nc73";

test.each(AUDIT_ACTIONS)("the target of %s is named, and its page has the tab", (action) => {
  const { what, page, pageId, query } = describeTarget({ action, target: ID });
  expect(what).toMatch(/^(API|EVM|x402|[A-Z][a-z-]+)( [a-z]+)*$/);
  if (page === undefined) return expect(action).toMatch(/(delete|remove|erase|import\.run)$/);
  if (page === "payment" || page === "purchase") return expect(pageId).toBe(ID);
  const tabs = LIST_PAGES.find(({ name }) => name === page)?.tabs.map(({ name }) => name);
  expect(tabs).toContain(query.tab ?? tabs?.[0]);
});

test("the filter of the audit log has each action, under a name of its own", () => {
  const audit = LIST_PAGES.flatMap(({ tabs }) => tabs).find(({ path }) => path === "/audit");
  const filter = audit?.filters?.find(({ name }) => name === "action");
  expect(filter?.choices).toEqual(AUDIT_ACTIONS);
  const names = AUDIT_ACTIONS.map((action) => filter?.nameChoice?.(action));
  expect(new Set(names).size).toBe(AUDIT_ACTIONS.length);
});

test("a reference script leads to its payment source", () => {
  const detail = { paymentSourceId: "01m80ye1" };
  const row = { action: "reference-script.publish", target: ID, detail };
  expect(describeTarget(row)).toMatchObject({ page: "sources", query: { on: "01m80ye1" } });
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
