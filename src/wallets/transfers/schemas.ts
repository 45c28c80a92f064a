import * as z from "zod";
import {
  bech32AddressParameter,
  network,
  requestToken,
  unit,
} from "../../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_TX_HASH,
  EXAMPLE_WALLET_ADDRESS,
  hexField,
  idField,
  minorUnitsField,
  named,
  nullableTextField,
  nullableTimestampField,
  timestampField,
  walletAddressField,
} from "../../http/openapi/fields.ts";
import { optionalTextParameter, pageParameters } from "../../http/openapi/parameters.ts";
import { TRANSFER_STATES } from "./tables.ts";

const MAX_ASSETS = 10;

const EXAMPLE_TRANSFER_ID = "01m80yg3q4v6t1n8s2c7w9x5ba";
const EXAMPLE_WALLET_ID = "01m80ydypnw7zfztc441hghgzn";
const EXAMPLE_TOKEN = "16a55b2a349361ff88c03788f93e1e966e5d689605d044fef722ddde0014df10745553444d";

const asset = named(
  "TransferAsset",
  "An amount of a token.",
  z.object({
    unit: described(
      requestToken,
      "Policy id and asset name in hex; the native coin goes into `minorUnitAmount`.",
      EXAMPLE_TOKEN,
    ),
    quantity: described(
      z.string().regex(/^[1-9]\d{0,19}$/, "must be a positive whole number of minor units as text"),
      "Minor units.",
      "25000000",
    ),
  }),
);

export const transferBody = z.object({
  fromWalletAddress: described(
    bech32AddressParameter(),
    "Address of the managed wallet that pays.",
    EXAMPLE_WALLET_ADDRESS,
  ),
  toAddress: described(
    bech32AddressParameter(),
    "Recipient: an address with a payment key, on the same network.",
    EXAMPLE_WALLET_ADDRESS,
  ),
  minorUnitAmount: described(
    z
      .string()
      .regex(
        /^([2-9]\d{6}|[1-9]\d{7,19})$/,
        "must be a whole number of minor units as text, at least 2000000",
      ),
    "Native coin in minor units. The service sends more if the ledger requires it for the tokens.",
    "5000000",
  ),
  assets: described(
    z
      .array(asset)
      .max(MAX_ASSETS)
      .refine(
        (assets) => new Set(assets.map(({ unit }) => unit)).size === assets.length,
        "must name each unit once",
      )
      .default([]),
    "Tokens to send along.",
  ),
});

export type TransferBody = z.output<typeof transferBody>;

export const transferQuery = z.object({
  ...pageParameters,
  id: optionalTextParameter("Only this transfer.", EXAMPLE_TRANSFER_ID),
  hotWalletId: optionalTextParameter("Only transfers of this wallet.", EXAMPLE_WALLET_ID),
  walletAddress: optionalTextParameter(
    "Only transfers of the wallet with this address.",
    EXAMPLE_WALLET_ADDRESS,
  ),
  network: network.optional(),
});

const status = named(
  "TransferStatus",
  "Status of a transfer. `Pending`: no transaction yet. `Sent`: the transaction waits for confirmations. `Failed`: no transaction can pay it.",
  z.enum(TRANSFER_STATES),
);

export const transferRecord = named(
  "Transfer",
  "A transfer from a managed wallet.",
  z.object({
    id: idField("the transfer", EXAMPLE_TRANSFER_ID),
    status: described(
      status,
      "Status of the transfer. A rollback returns `Confirmed` to `Sent` or `Pending`.",
      "Confirmed",
    ),
    txHash: described(
      hexField(64, "", EXAMPLE_TX_HASH).nullable(),
      "Hash of the last transaction for the transfer. Null: none yet.",
      EXAMPLE_TX_HASH,
    ),
    blockHeight: described(
      z.int().min(0).nullable(),
      "Height of the block. Null: not confirmed.",
      49,
    ),
    blockTime: described(
      z.int().min(0).nullable(),
      "Time of the block, in Unix seconds. Null: not confirmed.",
      1795328245,
    ),
    network,
    paymentSourceId: idField("the payment source of the wallet", "01m80ydypnk4jnwav628wda9nd"),
    hotWalletId: idField("the wallet that pays", EXAMPLE_WALLET_ID),
    fromWalletAddress: walletAddressField("the wallet that pays"),
    toAddress: walletAddressField("the recipient"),
    minorUnitAmount: minorUnitsField("Requested native coin, in minor units.", "5000000"),
    sentMinorUnitAmount: described(
      minorUnitsField("").nullable(),
      "Native coin that the transaction pays, in minor units. Null: no transaction yet.",
      "5000000",
    ),
    assets: described(
      z
        .array(
          named(
            "TransferredAsset",
            "An amount of a token that is sent.",
            z.object({
              unit: described(z.string(), "Policy id and asset name in hex.", EXAMPLE_TOKEN),
              quantity: minorUnitsField("Minor units.", "25000000"),
            }),
          ),
        )
        .nullable(),
      "Tokens sent along. Null: none.",
    ),
    topUpRuleId: nullableTextField(
      "Id of the rule that requested the transfer. Null: a caller requested it.",
      null,
    ),
    errorNote: nullableTextField(
      "Why the settlement failed, or what it waits for. Null: neither.",
      null,
    ),
    createdAt: timestampField("Time of the request."),
    updatedAt: timestampField("Time of the last change."),
    lastCheckedAt: nullableTimestampField(
      "Time of the last confirmation. Null: none yet.",
      "2026-11-22T06:19:31.004Z",
    ),
  }),
);

export type TransferRecord = z.infer<typeof transferRecord>;

/** `data` of FUND_DISTRIBUTION_SENT, _CONFIRMED and _FAILED. */
export const distribution = named(
  "FundDistribution",
  "A transaction of a Funding wallet that tops up other wallets.",
  z.object({
    batchId: idField("the transaction in these events", "01m80yg7c2r9k4d6w1f5z8n3hx"),
    fundWalletId: idField("the Funding wallet", "01m80ydypq2t5y8b4m6c1v9k3j"),
    fundWalletAddress: walletAddressField("the Funding wallet"),
    network,
    paymentSourceId: idField("the payment source of the wallets", "01m80ydypnk4jnwav628wda9nd"),
    txHash: described(
      hexField(64, "", EXAMPLE_TX_HASH).nullable(),
      "Transaction hash. Null: none could be built.",
      EXAMPLE_TX_HASH,
    ),
    distributions: described(
      z.array(
        named(
          "Distribution",
          "Top-up of one wallet.",
          z.object({
            requestId: idField("the transfer, in GET /wallet/transfer-funds", EXAMPLE_TRANSFER_ID),
            targetWalletId: idField("the wallet that is topped up", EXAMPLE_WALLET_ID),
            targetWalletAddress: walletAddressField("the wallet that is topped up"),
            assetUnit: unit,
            amount: minorUnitsField("Minor units of `assetUnit`.", "40000000"),
          }),
        ),
      ),
      "Top-ups of the wallets.",
    ),
    error: nullableTextField("Why the transaction failed. Null: no failure.", null),
    willRetry: described(z.boolean(), "Whether the service will try again after a failure.", false),
  }),
);

export type Distribution = z.infer<typeof distribution>;
