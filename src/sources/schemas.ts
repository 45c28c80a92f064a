import * as z from "zod";
import { PROVIDER_PURPOSES } from "../chain/provider/outage.ts";
import { described, named } from "../http/openapi/fields.ts";
import { AUTOMATION_MODES } from "./automation-mode.ts";

/** What the service does for a source or with a wallet. */
export const automationMode = described(
  named(
    "Drives",
    "What the service does automatically. `all`: everything; `finish`: it ends open work and begins nothing new; `nothing`: it only watches.",
    z.enum(AUTOMATION_MODES),
  ),
  "What the service does automatically. The stricter value of payment source and wallet applies.",
  "all",
);

export const providerPurpose = named(
  "RpcProviderUse",
  "What a chain provider is used for.",
  z.enum(PROVIDER_PURPOSES),
);

/** Whether the service withdraws sellers' funds at a payment source without a request. */
export const autoWithdrawPayments = described(
  z.boolean().nullable(),
  "Whether selling wallets withdraw payments automatically. Null: as the variable `AUTO_WITHDRAW_PAYMENTS` says.",
  null,
);

/** Whether the service collects buyers' refunds at a payment source without a request. */
export const autoWithdrawRefunds = described(
  z.boolean().nullable(),
  "Whether purchasing wallets collect refunds automatically. Null: as the variable `AUTO_WITHDRAW_REFUNDS` says.",
  null,
);
