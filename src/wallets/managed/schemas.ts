import * as z from "zod";
import { validateMnemonic } from "../../chain/wallet-keys.ts";
import {
  answerText,
  described,
  hexText,
  minorUnits,
  named,
  recordId,
  TX_HASH,
  timestamp,
  WALLET_ADDRESS,
  walletAddress,
  walletVkey,
} from "../../http/openapi/fields.ts";
import { bech32Address, network } from "../../http/openapi/ledger.ts";
import { page, pageOrTake, text, time } from "../../http/openapi/parameters.ts";
import { drives } from "../../sources/schemas.ts";
import { TRANSACTION_PHASES } from "../model/phases.ts";
import { WALLET_ROLES } from "./tables.ts";

export const walletType = described(
  named("WalletType", "What a wallet is for.", z.enum(WALLET_ROLES)),
  "What the wallet is for: `Purchasing` locks funds, `Selling` is paid, `Funding` fills up the others.",
  "Purchasing",
);

/** Words of a wallet in a request. */
export const mnemonic = text(1500)
  .superRefine((words, problems) => {
    const checked = validateMnemonic(words);
    if (!checked.ok) problems.addIssue(checked.problem);
  })
  .meta({ format: "bip39-mnemonic" });

export const newWallet = named(
  "NewWallet",
  "A wallet that the service will manage.",
  z.strictObject({
    walletMnemonic: described(
      mnemonic,
      "12, 15, 18, 21 or 24 words (BIP-39). Never returned.",
      "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
    ),
    note: described(text(250, 0).default(""), "A note for people.", "main buyer"),
    collectionAddress: described(
      bech32Address().nullable().default(null),
      "Where refunds or revenue are sent; null: to the wallet itself.",
      WALLET_ADDRESS,
    ),
    drives: described(
      drives.optional(),
      "What the service does with it. Omitted: its earlier value, if the source had the wallet before; else `nothing` while an open escrow of the contract names the wallet, since another service may drive it, else `all`.",
      "all",
    ),
  }),
);

export type NewWallet = z.output<typeof newWallet>;

export const walletFields = {
  id: recordId("the wallet", "01m80ydypnw7zfztc441hghgzn"),
  walletVkey: walletVkey("the wallet"),
  walletAddress: walletAddress("the wallet"),
  note: answerText("A note for people.", "main buyer"),
  collectionAddress: described(
    z.string().nullable(),
    "Where refunds or revenue are sent; null: to the wallet itself.",
    WALLET_ADDRESS,
  ),
  drives,
};

export const walletEntry = named(
  "ManagedWallet",
  "A wallet of a payment source.",
  z.object(walletFields),
);

const WALLET_ID = "01m80ydypnw7zfztc441hghgzn";

export const listQuery = z.object({
  ...pageOrTake,
  paymentSourceId: described(
    text().optional(),
    "Only wallets of this payment source.",
    "01m80ydypnk4jnwav628wda9nd",
  ),
  walletType: described(walletType.optional(), "Only wallets of this type."),
  walletVkey: described(
    text().optional(),
    "Only the wallet with this payment key hash.",
    "c98139eca804a346806b3962b27320501b33ee669519da38d1b794b3",
  ),
  walletAddress: described(text().optional(), "Only the wallet with this address.", WALLET_ADDRESS),
});

export type ListQuery = z.output<typeof listQuery>;

export const walletRecordFields = {
  ...walletFields,
  type: walletType,
  network,
  paymentSourceId: recordId("its payment source", "01m80ydypnk4jnwav628wda9nd"),
  createdAt: timestamp("When it was added."),
};

/** A wallet with the fields beyond its source's entry. */
export const walletRecord = named(
  "Wallet",
  "A wallet of a payment source.",
  z.object(walletRecordFields),
);

export type WalletRecord = z.infer<typeof walletRecord>;

const addedFields = {
  walletType,
  walletMnemonic: described(
    mnemonic.optional(),
    "The words of a wallet that exists. Left out: a new one is made.",
    "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
  ),
  note: described(text(250, 0).optional(), "A note for people.", "main buyer"),
  collectionAddress: described(
    bech32Address().nullable().optional(),
    "Where refunds or revenue are sent; null: to the wallet itself.",
    WALLET_ADDRESS,
  ),
  drives: described(
    drives.optional(),
    "What the service does with it. Omitted: its earlier value, if the source had the wallet before; else `nothing` while an open escrow of the contract names the wallet, since another service may drive it, else `all`.",
    "all",
  ),
};
const sourceId = described(
  text(),
  "The payment source that the wallet is added to. Left out: it is added to none, and a new one is stored nowhere.",
  "01m80ydypnk4jnwav628wda9nd",
);

const walletOfSource = named(
  "WalletOfSource",
  "A wallet that is added to a payment source.",
  z.strictObject({ network, paymentSourceId: sourceId, ...addedFields }),
);

export type WalletOfSourceBody = z.output<typeof walletOfSource>;

export const createWalletBody = z.xor([
  named(
    "UnmanagedWallet",
    "A new wallet that the service does not manage.",
    z.strictObject({ network }),
  ),
  walletOfSource,
]);

export type CreateWalletBody = z.output<typeof createWalletBody>;

export const createdWallet = named(
  "CreatedWallet",
  "A wallet that was made or added just now.",
  z.object({
    walletMnemonic: described(
      z.string().nullable(),
      "The 24 words of a new wallet, shown here and never again; null of one that existed.",
      `${"abandon ".repeat(23)}art`,
    ),
    walletAddress: walletAddress("the wallet"),
    walletVkey: walletVkey("the wallet"),
    Wallet: described(
      walletRecord.nullable(),
      "The wallet as it was added; null of one that was added to no payment source.",
    ),
  }),
);

export type CreatedWallet = z.infer<typeof createdWallet>;

export const changeBody = z.strictObject({
  id: described(text(), "Id of the wallet.", WALLET_ID),
  collectionAddress: described(
    bech32Address().nullable().optional(),
    "Where refunds or revenue are sent; null: to the wallet itself.",
    WALLET_ADDRESS,
  ),
  newCollectionAddress: described(
    bech32Address().nullable().optional(),
    "The same as `collectionAddress`, which counts where both are sent.",
    WALLET_ADDRESS,
  ),
  note: described(text(250, 0).optional(), "A note for people.", "main buyer"),
  drives: drives.optional(),
});

export type ChangeBody = z.output<typeof changeBody>;

export const transactionState = named(
  "WalletTransactionState",
  "How far a wallet's transaction is: `Stored` and `Sent` wait for a block, `Confirmed` has the confirmations that count, `Final` stays; `Expired`, `Refused`, `Orphaned` and `Failed` have ended and are done anew, `Dead` can never come.",
  z.enum(TRANSACTION_PHASES),
);

export const walletTask = named(
  "WalletTask",
  "Something that a wallet does on the chain.",
  z.object({
    feature: answerText("The feature that requested it.", "registration"),
    id: answerText("Names it within the feature.", "01m80ye14arhma0jvpxvf6nc73:Registration"),
  }),
);

export const transactionQuery = z.object({
  ...page,
  network,
  walletVkey: described(
    text().optional(),
    "Only transactions of the wallet with this payment key hash.",
    "c98139eca804a346806b3962b27320501b33ee669519da38d1b794b3",
  ),
  state: described(transactionState.optional(), "Only transactions in this state.", "Sent"),
  from: described(time().optional(), "Only transactions stored then or later."),
  to: described(time().optional(), "Only transactions stored before then."),
});

export type TransactionQuery = z.output<typeof transactionQuery>;

export const transactionRecord = named(
  "WalletTransaction",
  "A transaction that a wallet has stored, and what became of it.",
  z.object({
    txHash: hexText(64, "Hash of the transaction.", TX_HASH),
    state: described(transactionState, "How far it is.", "Sent"),
    network,
    walletVkey: walletVkey("the wallet"),
    paymentSourceId: recordId(
      "the payment source whose provider it was sent through first",
      "01m80ydypnk4jnwav628wda9nd",
    ),
    Tasks: described(z.array(walletTask), "What it does."),
    fees: minorUnits("Network fee in minor units of the native coin.", "283005"),
    validTo: described(z.int(), "The first slot in which it is no longer valid.", 111542730),
    blockHeight: described(z.int().nullable(), "Of its block; null while none has it.", 3456789),
    blockTime: described(
      z.int().nullable(),
      "Of its block, Unix seconds; null while none has it.",
      1_795_328_246,
    ),
    error: described(z.string().nullable(), "Why it ended; null while it has not.", null),
    requestId: answerText("Of the run that stored it.", "01m80ye14arhma0jvpxvf6nc73"),
    createdAt: timestamp("When it was stored."),
    updatedAt: timestamp("When its state last changed."),
  }),
);

export type TransactionRecord = z.infer<typeof transactionRecord>;
