import { expect, it } from "vitest";
import { CANONICAL_UNIT_PATTERN, TOKEN_PATTERN, UNIT_PATTERN } from "../../../src/chain/unit.ts";
import { type JsonSchema, type Operation, openApi } from "../../support/endpoints/document.ts";

/** Fields that name an asset of the ledger; an amount in minor units is named for them as well. */
const NAMES_A_UNIT = /^(unit|assetUnit|filterUnit)$/;

function schemaOf(reference: string): JsonSchema {
  return openApi.components.schemas[reference.split("/").at(-1) ?? ""] ?? {};
}

/** The patterns of all units that a schema reads, by their path in it. */
function unitsIn(schema: JsonSchema, path: string): [string, unknown][] {
  if (typeof schema.$ref === "string") return unitsIn(schemaOf(schema.$ref), path);
  // The names in what an agent adds for buyers over x402 are its own.
  if (path.endsWith(".extra")) return [];
  const { properties = {}, items, propertyNames, additionalProperties, anyOf, oneOf } = schema;
  const parts = [items, additionalProperties, ...[anyOf, oneOf].flat()].filter(isSchema);
  const named = Object.entries(properties as Record<string, JsonSchema>);
  return [
    ...(isSchema(propertyNames) ? [[`${path}{}`, propertyNames.pattern] as [string, unknown]] : []),
    ...named.flatMap(([name, one]): [string, unknown][] =>
      NAMES_A_UNIT.test(name)
        ? [[`${path}.${name}`, one.pattern]]
        : unitsIn(one, `${path}.${name}`),
    ),
    ...parts.flatMap((one) => unitsIn(one, path)),
  ];
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null;
}

/** The same of all that an operation reads. */
function unitsOf(name: string, { parameters = [], requestBody }: Operation): [string, unknown][] {
  const named = parameters.map((one) => {
    const found = openApi.components.parameters[one.$ref?.split("/").at(-1) ?? ""] ?? one;
    return [found.name, found.schema] as const;
  });
  const body = requestBody?.content["application/json"].schema;
  return [
    ...unitsIn({ properties: Object.fromEntries(named) }, name),
    ...(body ? unitsIn(body, name) : []),
  ];
}

it("every unit that a request names has the one pattern of a unit, or that of a token", () => {
  const found = Object.entries(openApi.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) =>
      unitsOf(`${method} ${path.replace("/api/v1", "")}`, operation),
    ),
  );
  const patternOf = (where: string) => {
    if (where.endsWith("{}")) return CANONICAL_UNIT_PATTERN;
    return /transfer-funds|\/units/.test(where) ? TOKEN_PATTERN : UNIT_PATTERN;
  };
  for (const [where, pattern] of found)
    expect([where, pattern]).toEqual([where, patternOf(where).source]);
  expect(found.map(([where]) => where)).toEqual(
    expect.arrayContaining([
      "post /registry.AgentPricing.Pricing.unit",
      "post /registry/update.AgentPricing.Pricing.unit",
      "post /payment.RequestedFunds.unit",
      "post /purchase.Amounts.unit",
      "post /purchase/verify.Amounts.unit",
      "get /payment.filterUnit",
      "post /wallet/transfer-funds.assets.unit",
      "post /wallet/low-balance.unit",
      "post /wallet/top-up.unit",
      "post /api-key.spendingLimits.unit",
      "patch /api-key.spendingLimits.unit",
      "patch /api-key.spendingLimitChanges.unit",
      "post /dispute/proposal.BuyerFunds.unit",
      "post /units.unit",
      "post /invoice/monthly.CurrencyConversion{}",
      "post /invoice/monthly.decimals{}",
      "post /invoice/rates.unit",
    ]),
  );
});
