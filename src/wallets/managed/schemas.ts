import * as z from "zod";
import { validateMnemonic } from "../../chain/wallet-keys.ts";
import { bech32AddressParameter, network } from "../../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_TX_HASH,
  EXAMPLE_WALLET_ADDRESS,
  hexField,
  idField,
  minorUnitsField,
  named,
  nullableTextField,
  textField,
  timestampField,
  walletAddressField,
  walletVkeyField,
} from "../../http/openapi/fields.ts";
import {
  optionalTextParameter,
  pageParameters,
  pageParametersWithTake,
  textParameter,
  timeParameter,
} from "../../http/openapi/parameters.ts";
import { automationMode } from "../../sources/schemas.ts";
import { TRANSACTION_PHASES } from "../model/phases.ts";
import { WALLET_ROLES } from "./tables.ts";

export const walletType = described(
  named("WalletType", "What a wallet is for.", z.enum(WALLET_ROLES)),
  "What the wallet is for: `Purchasing` locks funds, `Selling` receives payments, `Funding` tops up the others.",
  "Purchasing",
);

/** Words of a wallet in a request. */
export const mnemonic = textParameter(1500)
  .superRefine((words, problems) => {
    const checked = validateMnemonic(words);
    if (!checked.ok) problems.addIssue(checked.problem);
  })
  .meta({ format: "bip39-mnemonic" });

const EXAMPLE_MNEMONIC =
  "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";

const describeCollectionAddress = <Schema extends z.ZodType>(schema: Schema) =>
  described(
    schema,
    "Address that receives refunds or revenue. Null: the wallet itself.",
    EXAMPLE_WALLET_ADDRESS,
  );
const drivesOfNewWallet = described(
  automationMode.optional(),
  "What the service does automatically with the wallet. Omitted: its earlier value in this source. For a new wallet: `nothing` if an open escrow of the contract names the wallet, since another service may drive it; otherwise `all`.",
  "all",
);
const optionalNote = described(
  textParameter(250, 0).optional(),
  "A note for people.",
  "main buyer",
);
const optionalCollectionAddress = describeCollectionAddress(
  bech32AddressParameter().nullable().optional(),
);

export const newWallet = named(
  "NewWallet",
  "A wallet that the service will manage.",
  z.strictObject({
    walletMnemonic: described(
      mnemonic,
      "12, 15, 18, 21 or 24 words (BIP-39). Never returned.",
      EXAMPLE_MNEMONIC,
    ),
    note: described(textParameter(250, 0).default(""), "A note for people.", "main buyer"),
    collectionAddress: describeCollectionAddress(bech32AddressParameter().nullable().default(null)),
    drives: drivesOfNewWallet,
  }),
);

export type NewWallet = z.output<typeof newWallet>;

export const walletFields = {
  id: idField("the wallet", "01m80ydypnw7zfztc441hghgzn"),
  walletVkey: walletVkeyField("the wallet"),
  walletAddress: walletAddressField("the wallet"),
  note: textField("A note for people.", "main buyer"),
  collectionAddress: nullableTextField(
    "Address that receives refunds or revenue. Null: the wallet itself.",
    EXAMPLE_WALLET_ADDRESS,
  ),
  drives: automationMode,
};

export const walletEntry = named(
  "ManagedWallet",
  "A wallet of a payment source.",
  z.object(walletFields),
);

const EXAMPLE_WALLET_ID = "01m80ydypnw7zfztc441hghgzn";

export const walletListQuery = z.object({
  ...pageParametersWithTake,
  paymentSourceId: optionalTextParameter(
    "Only wallets of this payment source.",
    "01m80ydypnk4jnwav628wda9nd",
  ),
  id: optionalTextParameter("Only the wallet with this id.", EXAMPLE_WALLET_ID),
  walletType: described(walletType.optional(), "Only wallets of this type."),
  walletVkey: optionalTextParameter(
    "Only the wallet with this payment key hash.",
    "c98139eca804a346806b3962b27320501b33ee669519da38d1b794b3",
  ),
  walletAddress: optionalTextParameter(
    "Only the wallet with this address.",
    EXAMPLE_WALLET_ADDRESS,
  ),
});

export type WalletListQuery = z.output<typeof walletListQuery>;

export const walletRecordFields = {
  ...walletFields,
  type: walletType,
  network,
  paymentSourceId: idField("the payment source", "01m80ydypnk4jnwav628wda9nd"),
  createdAt: timestampField("When the wallet was added."),
};

/** A wallet with the fields beyond its source's entry. */
export const walletRecord = named(
  "Wallet",
  "A wallet of a payment source.",
  z.object(walletRecordFields),
);

export type WalletRecord = z.infer<typeof walletRecord>;

const newWalletFields = {
  walletType,
  walletMnemonic: described(
    mnemonic.optional(),
    "Words of an existing wallet. Omitted: the service creates a wallet.",
    EXAMPLE_MNEMONIC,
  ),
  note: optionalNote,
  collectionAddress: optionalCollectionAddress,
  drives: drivesOfNewWallet,
};
const sourceId = described(
  textParameter(),
  "Id of the payment source for the wallet. Omitted: the service stores nothing.",
  "01m80ydypnk4jnwav628wda9nd",
);

const walletOfSourceBody = named(
  "WalletOfSource",
  "A wallet that is added to a payment source.",
  z.strictObject({ network, paymentSourceId: sourceId, ...newWalletFields }),
);

export type WalletOfSourceBody = z.output<typeof walletOfSourceBody>;

export const createWalletBody = z.xor([
  named(
    "UnmanagedWallet",
    "A new wallet that the service does not manage.",
    z.strictObject({ network }),
  ),
  walletOfSourceBody,
]);

export type CreateWalletBody = z.output<typeof createWalletBody>;

export const createdWallet = named(
  "CreatedWallet",
  "A newly created or added wallet.",
  z.object({
    walletMnemonic: nullableTextField(
      "The 24 words of a new wallet. Only this response contains them. Null: the wallet existed.",
      `${"abandon ".repeat(23)}art`,
    ),
    walletAddress: walletAddressField("the wallet"),
    walletVkey: walletVkeyField("the wallet"),
    Wallet: described(
      walletRecord.nullable(),
      "The added wallet. Null: added to no payment source.",
    ),
  }),
);

export type CreatedWallet = z.infer<typeof createdWallet>;

export const changeWalletBody = z.strictObject({
  id: described(textParameter(), "Id of the wallet.", EXAMPLE_WALLET_ID),
  collectionAddress: optionalCollectionAddress,
  newCollectionAddress: described(
    bech32AddressParameter().nullable().optional(),
    "Another name of `collectionAddress`, which overrides this field.",
    EXAMPLE_WALLET_ADDRESS,
  ),
  note: optionalNote,
  drives: automationMode.optional(),
});

export const removeWalletBody = changeWalletBody.pick({ id: true });

export type ChangeWalletBody = z.output<typeof changeWalletBody>;

export const transactionState = named(
  "WalletTransactionState",
  "State of a wallet's transaction. `Stored`, `Sent`: waits for a block. `Confirmed`: has enough confirmations. `Final`: permanent. `Expired`, `Refused`, `Orphaned`, `Failed`: ended, and the service builds another. `Dead`: can never land.",
  z.enum(TRANSACTION_PHASES),
);

export const walletTask = named(
  "WalletTask",
  "A task of a wallet on the chain.",
  z.object({
    feature: textField("Feature of the task.", "registration"),
    id: textField("Id of the task within the feature.", "01m80ye14arhma0jvpxvf6nc73:Registration"),
  }),
);

export const transactionQuery = z.object({
  ...pageParameters,
  network,
  walletVkey: optionalTextParameter(
    "Only transactions of the wallet with this payment key hash.",
    "c98139eca804a346806b3962b27320501b33ee669519da38d1b794b3",
  ),
  state: described(transactionState.optional(), "Only transactions in this state.", "Sent"),
  from: described(timeParameter().optional(), "Only transactions stored at or after this time."),
  to: described(timeParameter().optional(), "Only transactions stored before this time."),
});

export type TransactionQuery = z.output<typeof transactionQuery>;

export const transactionRecord = named(
  "WalletTransaction",
  "A transaction that a wallet has stored.",
  z.object({
    txHash: hexField(64, "Hash of the transaction.", EXAMPLE_TX_HASH),
    state: described(transactionState, "State of the transaction.", "Sent"),
    network,
    walletVkey: walletVkeyField("the wallet"),
    paymentSourceId: idField(
      "the payment source whose provider first received the transaction",
      "01m80ydypnk4jnwav628wda9nd",
    ),
    Tasks: described(z.array(walletTask), "Tasks of the transaction."),
    fees: minorUnitsField("Network fee in minor units of the native coin.", "283005"),
    validTo: described(
      z.int(),
      "First slot in which the transaction is no longer valid.",
      111542730,
    ),
    blockHeight: described(z.int().nullable(), "Height of the block. Null: in no block.", 3456789),
    blockTime: described(
      z.int().nullable(),
      "Time of the block, in Unix seconds. Null: in no block.",
      1_795_328_246,
    ),
    error: nullableTextField("Why the transaction ended. Null: not ended.", null),
    requestId: textField(
      "Id of the run that stored the transaction.",
      "01m80ye14arhma0jvpxvf6nc73",
    ),
    createdAt: timestampField("Time of storage."),
    updatedAt: timestampField("When the state last changed."),
  }),
);

export type TransactionRecord = z.infer<typeof transactionRecord>;
