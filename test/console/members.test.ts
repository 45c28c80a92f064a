/** What an opened row says of its members, in words. */
import { describe, expect, test } from "vitest";
import { formatMemberName } from "../../console/ui/format.ts";
import { valueKindOf } from "../../console/ui/list/members.ts";

describe("formatMemberName", () => {
  test.each([
    ["responseStatus", "Response status"],
    ["lastUsedAt", "Last used"],
    ["isActive", "Active"],
    ["apiKeyId", "API key id"],
    ["txHash", "Transaction hash"],
    ["caip2Network", "EVM network"],
    ["LowBalanceSummary", "Low balance summary"],
    ["buyerReturnVKey", "Buyer return key hash"],
    ["registry_source", "Registry source"],
    ["id", "Id"],
    ["at", "At"],
    ["payment", "Payment"],
  ])("%s is %s", (name, words) => {
    expect(formatMemberName(name)).toBe(words);
  });
});

describe("valueKindOf", () => {
  test.each([
    ["step", "AuthorizeRefund", "word"],
    ["event", "PURCHASE_ON_ERROR", "word"],
    ["changed", ["networkLimit", "name"], "words"],
    ["name", "MyWallet", "text"],
  ])("%s of %j is shown as %s", (name, value, kind) => {
    expect(valueKindOf(name, value)).toBe(kind);
  });
});
