import * as z from "zod";
import type { Env } from "../env.ts";
import { toInternalValueName } from "../http/names/wire-names.ts";
import { described, named } from "../http/openapi/fields.ts";
import {
  type PaymentSourceRecord,
  paymentSourceRecord,
} from "../payment-sources/response-schemas.ts";
import { isCurrentPolicy } from "../sources/contracts/templates.ts";

const syncStatus = named(
  "ContractSyncStatus",
  "Whether a payment source has the newest contract.",
  z.enum(["in_sync", "outdated_contract"]),
);

const { FeeReceiverNetworkWallet: feeReceiver } = paymentSourceRecord.shape;

/** Fields of payment sources that the payment service has. */
export const SOURCE_FIELDS = {
  schema: {
    contractSyncStatus: described(syncStatus, "Whether new agents have its policy.", "in_sync"),
    FeeReceiverNetworkWallet: described(feeReceiver.nullable(), "Null: no fee."),
    PurchasingWalletsCount: described(z.int(), "Number of Purchasing wallets.", 1),
    SellingWalletsCount: described(z.int(), "Number of Selling wallets.", 1),
  },
  fieldsOf(record: object, env: Env) {
    const source = record as PaymentSourceRecord;
    const { FeeReceiverNetworkWallet: receiver } = source;
    const type = toInternalValueName(source.paymentSourceType) as typeof source.paymentSourceType;
    const isOutdated = type === "Web3ChainV2" && !isCurrentPolicy(env, { ...source, type });
    return {
      contractSyncStatus: isOutdated ? "outdated_contract" : "in_sync",
      FeeReceiverNetworkWallet: receiver.walletAddress === "" ? null : receiver,
      PurchasingWalletsCount: source.PurchasingWallets.length,
      SellingWalletsCount: source.SellingWallets.length,
    };
  },
};
