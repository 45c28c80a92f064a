import * as z from "zod";
import { described, named, POLICY_ID } from "../http/openapi/fields.ts";
import { unit } from "../http/openapi/ledger.ts";

const TOKEN = `${POLICY_ID}746f6b656e`;

const ticker = described(
  z.string().regex(/^[\x21-\x7e]{1,20}$/, "must be 1 to 20 printable characters without spaces"),
  "What people call it.",
  "USDM",
);
const decimals = described(
  z.int().min(0).max(18),
  "Digits after the point when people write an amount: 6 means that 1,000,000 minor units are 1.",
  6,
);
const token = described(
  z
    .string()
    .regex(
      /^[0-9a-f]{56}([0-9a-f]{2}){0,32}$/,
      "must be policy id and asset name in hex: the native coin needs no entry",
    ),
  "Policy id and asset name of a token, in hex.",
  TOKEN,
);

export const shownUnit = named(
  "Unit",
  "What people call a unit.",
  z.object({ unit, ticker, decimals }),
);

export const unitBody = z.object({ unit: token, ticker, decimals });

export const forgetBody = z.object({ unit: token });
