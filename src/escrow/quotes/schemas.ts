import * as z from "zod";
import { bech32AddressParameter, funds, network, unit } from "../../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_WALLET_ADDRESS,
  minorUnitsField,
  named,
  textField,
} from "../../http/openapi/fields.ts";
import { timeParameter } from "../../http/openapi/parameters.ts";
import { requestBlockchainIdentifier } from "../queries/next-step-schemas.ts";
import { paymentRecord } from "../queries/record-schemas.ts";
import { requestedFunds, sharedTerms, sourceIndex, warningsField } from "../terms/schemas.ts";

export const quoteBody = z.object({
  ...sharedTerms,
  payByTime: described(
    timeParameter(),
    "Latest time to lock the funds: at least 2 minutes ahead, and 5 minutes before `submitResultTime`.",
    "2026-11-22T07:00:00.000Z",
  ),
  submitResultTime: described(
    timeParameter(),
    "Latest time to submit the result: at least 15 minutes ahead, and 15 minutes before `unlockTime`.",
    "2026-11-22T08:00:00.000Z",
  ),
  unlockTime: described(
    timeParameter().optional(),
    "Earliest time to withdraw. Omitted: 6 hours after `submitResultTime`.",
    "2026-11-22T14:00:00.000Z",
  ),
  externalDisputeUnlockTime: described(
    timeParameter().optional(),
    "Earliest time to settle a dispute: at least 15 minutes after `unlockTime`. Omitted: 12 hours after `submitResultTime`.",
    "2026-11-22T20:00:00.000Z",
  ),
  RequestedFunds: described(
    requestedFunds.nullable().default(null),
    "Price of an agent with dynamic pricing. Must be omitted for a fixed price.",
  ),
  sellerReturnAddress: described(
    bech32AddressParameter().nullable().default(null),
    "Address that receives revenue: the selling wallet's own, its `collectionAddress` or one of the key's `returnAddresses`; any address for Admins. Omitted: its `collectionAddress`.",
    EXAMPLE_WALLET_ADDRESS,
  ),
});

export type QuoteBody = z.output<typeof quoteBody>;

/** An amount that may be below zero. */
const netFunds = z.array(
  named(
    "NetFunds",
    "Net amount of one asset.",
    z.object({
      amount: described(
        z.string().regex(/^-?\d+$/),
        "Minor units of `unit`; negative if the costs exceed the revenue.",
        "9500000",
      ),
      unit,
    }),
  ),
);

export const quoteRecord = named(
  "Quote",
  "A newly requested payment.",
  paymentRecord.extend({
    supportedPaymentSourceIndex: described(
      sourceIndex.optional(),
      "On Web3ChainV2 only: position of the payment source in the agent's list, which the seller signed.",
      0,
    ),
    Estimate: described(
      named(
        "QuoteEstimate",
        "Locked funds and costs of an escrow, without network fees.",
        z.object({
          minimumNativeLock: minorUnitsField(
            "Native coin that the buyer must lock, in minor units. The part beyond the price returns to the buyer.",
          ),
          protocolFee: described(
            funds,
            "Estimate of the contract's fee, which the seller pays: on Web3ChainV1 `feeRatePermille` of what must be locked, in the native coin at least 1435230. Without tokens the contract takes at least 1211110, with tokens more.",
          ),
          expectedNet: described(netFunds, "Funds that the seller keeps by this estimate."),
        }),
      ),
      "Estimated funds and costs of the escrow, without network fees.",
    ),
    Warnings: warningsField,
  }),
);

export const unsignedLockBody = z.object({
  network,
  blockchainIdentifier: requestBlockchainIdentifier,
  buyerAddress: described(
    bech32AddressParameter().min(58).max(120),
    "Address of the wallet that pays, with a payment key, in bech32. On Web3ChainV2, it must differ from the seller's payout address.",
    EXAMPLE_WALLET_ADDRESS,
  ),
});

export const unsignedLock = z.object({
  unsignedTxCbor: textField("Unsigned transaction, as CBOR in hex.", "84a400818258"),
  collateralReturnMinorUnit: minorUnitsField(
    "Native coin locked besides the price and returned at the end, in minor units.",
    "0",
  ),
});
