import * as z from "zod";
import { validateMnemonic } from "../../chain/keys.ts";
import {
  answerText,
  described,
  named,
  recordId,
  WALLET_ADDRESS,
  walletAddress,
  walletVkey,
} from "../../http/openapi/fields.ts";
import { bech32Address } from "../../http/openapi/ledger.ts";
import { text } from "../../http/parameters.ts";
import { drives } from "../../sources/schemas.ts";
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
    note: described(text(250, 0).default(""), "What people are told of it.", "main buyer"),
    collectionAddress: described(
      bech32Address().nullable().default(null),
      "Where refunds or revenue are sent; null: to the wallet itself.",
      WALLET_ADDRESS,
    ),
    drives: described(
      drives.optional(),
      "What the service does with it. Left out: what it was when the source takes it back; else `nothing` while an open escrow of the contract names the wallet, since another service may drive it, else `all`.",
      "all",
    ),
  }),
);

export type NewWallet = z.output<typeof newWallet>;

export const walletFields = {
  id: recordId("the wallet", "01m80ydypnw7zfztc441hghgzn"),
  walletVkey: walletVkey("the wallet"),
  walletAddress: walletAddress("the wallet"),
  note: answerText("What people are told of it.", "main buyer"),
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
