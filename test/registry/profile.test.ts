import { describe, expect, it } from "vitest";
import { readProfile } from "../../src/registry/entries/profile.ts";
import { MALFORMED } from "../support/registry/malformed-metadata.ts";
import { metadataOf } from "../support/registry/registry-sync.ts";

function profile(overrides: Record<string, unknown>) {
  const result = readProfile(metadataOf("agent", overrides));
  if (!result.ok) throw new Error(result.reason);
  return result.profile;
}

describe("an agent's metadata", () => {
  it("has its texts in one piece or in many", () => {
    const pieces = profile({ name: ["An ", "agent"], description: "one piece" });
    expect(pieces).toMatchObject({ name: "An agent", description: "one piece" });
  });

  it.each([
    ["an empty list", []],
    ["an empty text", ""],
    ["nothing", undefined],
    ["the ledger's name of it", "lovelace"],
    ["the ledger's name of it in any letters", ["LOVE", "Lace"]],
  ])("names the native coin by %s", (_, unit) => {
    const price = { amount: "1", ...(unit !== undefined && { unit }) };
    const read = profile({ agentPricing: { pricingType: "Fixed", fixedPricing: [price] } });
    expect(read.pricing).toEqual({ type: "Fixed", amounts: [{ amount: "1", unit: "" }] });
  });

  it("keeps a unit that is none of the ledger, and spells the others alike", () => {
    const units = ["ada", `${"ab".repeat(28)}.74`, "AB".repeat(30)];
    const fixedPricing = units.map((unit) => ({ amount: "1", unit: [unit] }));
    const read = profile({ agentPricing: { pricingType: "Fixed", fixedPricing } });
    expect(read.pricing.amounts.map(({ unit }) => unit)).toEqual([
      "ada",
      `${"ab".repeat(28)}.74`,
      "ab".repeat(30),
    ]);
  });

  it.each([
    ["Free", "None"],
    ["Dynamic", "Web3ChainV1"],
  ])("may be %s of price", (pricingType, paymentType) => {
    const read = profile({ agentPricing: { pricingType: [pricingType] } });
    expect(read).toMatchObject({ pricing: { type: pricingType, amounts: [] }, paymentType });
  });

  it("keeps long names and versions that were cut into pieces", () => {
    const read = profile({
      capability: { name: ["a".repeat(60), "b"], version: ["1".repeat(60), "2"] },
      example_output: [{ name: ["n".repeat(60), "m"], mime_type: "text/plain", url: "u" }],
    });
    expect(read.capability?.version).toBe(`${"1".repeat(60)}2`);
    expect(read.exampleOutputs[0]?.name).toBe(`${"n".repeat(60)}m`);
  });

  it("has a capability only with both name and version", () => {
    expect(profile({ capability: { name: "a" } }).capability).toBeNull();
    expect(profile({ capability: undefined }).capability).toBeNull();
  });

  it("of version 2 has the price of the first payment source on the ledger", () => {
    const evm = { chain: "EVM", settlement: { payTo: "0x" }, pricing: { pricingType: "Free" } };
    const ours = (pricing: unknown, address: unknown = ["addr"]) => ({
      chain: ["Cardano"],
      settlement: { address },
      pricing,
    });
    const fixed = { pricingType: "Fixed", fixed: [{ asset: "", amount: "7" }] };
    const read = (...sources: unknown[]) =>
      profile({ metadata_version: "2", supported_payment_sources: sources });
    expect(read(evm, ours(fixed))).toMatchObject({
      pricing: { type: "Fixed", amounts: [{ amount: "7", unit: "" }] },
      paymentType: "Web3ChainV2",
      metadataVersion: 2,
    });
    expect(read(evm)).toMatchObject({ pricing: { type: "Free" }, paymentType: "None" });
    expect(read(ours(fixed, []), ours({ pricingType: "Dynamic" }))).toMatchObject({
      pricing: { type: "Dynamic" },
    });
  });
});

describe("metadata with", () => {
  it.each(MALFORMED)("%s gives a reason", (_, metadata, reason) => {
    const result = readProfile(metadata);
    expect(result).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
  });
});
