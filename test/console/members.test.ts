/** What an opened row says of its members, in words. */
import { describe, expect, test } from "vitest";
import { formatMemberName, shortenHashes } from "../../console/ui/format.ts";
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
    ["RpcProviders", "Further providers"],
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
    ["changed", ["networkLimit", "name"], "members"],
    ["name", "MyWallet", "text"],
  ])("%s of %j is shown as %s", (name, value, kind) => {
    expect(valueKindOf(name, value)).toBe(kind);
  });
});

test("shortenHashes leaves out the middle of each hash of a sentence", () => {
  const hash = "a8ca742ef8142818d999c02b9190f0e82071e7d20440ffa4ea690edcdf9df44f";
  expect(shortenHashes(`transaction ${hash} to be in a block`)).toBe(
    "transaction a8ca742ef8…9df44f to be in a block",
  );
});
