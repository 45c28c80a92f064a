import * as z from "zod";
import { described, named } from "../http/openapi/fields.ts";
import { DRIVES } from "./drives.ts";

/** What the service does for a source or with a wallet. */
export const drives = described(
  named(
    "Drives",
    "What the service does automatically. `all`: everything; `finish`: it ends open work and begins nothing new; `nothing`: it only watches.",
    z.enum(DRIVES),
  ),
  "What the service does; of a payment source and its wallet the stricter holds.",
  "all",
);

/** Whether the service withdraws sellers' funds at a payment source without a request. */
export const autoWithdrawPayments = described(
  z.boolean().nullable(),
  "Whether sellers' wallets withdraw what is paid once they may; null: as the deployment's `AUTO_WITHDRAW_PAYMENTS` says.",
  null,
);

/** Whether the service collects buyers' refunds at a payment source without a request. */
export const autoWithdrawRefunds = described(
  z.boolean().nullable(),
  "Whether buyers' wallets collect refunds once they may; null: as the deployment's `AUTO_WITHDRAW_REFUNDS` says.",
  null,
);
