import * as z from "zod";
import { requestToken, unit } from "../http/openapi/chain-fields.ts";
import { described, named } from "../http/openapi/fields.ts";

const ticker = described(
  z.string().regex(/^[\x21-\x7e]{1,20}$/, "must be 1 to 20 printable characters without spaces"),
  "Display name.",
  "USDM",
);
const decimals = described(
  z.int().min(0).max(18),
  "Decimals of an amount in whole coins. With 6, 1,000,000 minor units are 1.",
  6,
);

export const tokenResponse = named(
  "Unit",
  "Name and decimals of a unit.",
  z.object({ unit, ticker, decimals }),
);

export const saveTokenBody = z.object({ unit: requestToken, ticker, decimals });

export const deleteTokenBody = z.object({ unit: requestToken });
