/** How much gas a network gives to payers who have not approved Permit2. */
import * as z from "zod";
import { described, named } from "../../http/openapi/fields.ts";
import { tokenAmount } from "../model/schemas.ts";
import type { x402Network } from "../model/tables.ts";

const WEI_PER_GWEI = 10n ** 9n;

/** The database counts in whole gwei, which SQLite can sum. */
function gasLimit() {
  return tokenAmount()
    .refine(
      (wei) =>
        BigInt(wei) % WEI_PER_GWEI === 0n &&
        BigInt(wei) / WEI_PER_GWEI <= BigInt(Number.MAX_SAFE_INTEGER),
      "must be a multiple of 1000000000, and at most 2^53 gwei",
    )
    .meta({ wire: { type: "string", pattern: "^[1-9]\\d{0,14}0{9}$" } });
}

export const gasSponsoring = named(
  "X402GasSponsoring",
  "Limits of the gas for payments that approve Permit2 by a permit (EIP-2612).",
  z.object({
    maxWeiPerPayer: described(
      gasLimit(),
      "Gas for one payer in a day (UTC), in wei. A multiple of 1000000000.",
      "1000000000000000",
    ),
    maxWeiPerDay: described(
      gasLimit(),
      "Gas for all payers in a day (UTC), in wei. A multiple of 1000000000.",
      "100000000000000000",
    ),
  }),
);

type GasSponsoring = z.output<typeof gasSponsoring>;

type SponsoringColumns = Pick<
  typeof x402Network.$inferSelect,
  "maxSponsoredGweiPerPayer" | "maxSponsoredGweiPerDay"
>;

/** The columns of a setting; null: the network gives no gas. */
export function toSponsoringColumns(setting: GasSponsoring | null): SponsoringColumns {
  return {
    maxSponsoredGweiPerPayer: setting && toGwei(BigInt(setting.maxWeiPerPayer)),
    maxSponsoredGweiPerDay: setting && toGwei(BigInt(setting.maxWeiPerDay)),
  };
}

/** The setting in columns. */
export function readSponsoringColumns(columns: SponsoringColumns): GasSponsoring | null {
  const { maxSponsoredGweiPerPayer: payer, maxSponsoredGweiPerDay: day } = columns;
  if (payer === null || day === null) return null;
  return { maxWeiPerPayer: toWei(payer), maxWeiPerDay: toWei(day) };
}

/** Whole gwei, rounded up. */
export function toGwei(wei: bigint): number {
  return Number((wei + WEI_PER_GWEI - 1n) / WEI_PER_GWEI);
}

function toWei(gwei: number): string {
  return String(BigInt(gwei) * WEI_PER_GWEI);
}
