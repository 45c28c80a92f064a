import * as z from "zod";
import {
  answerText,
  described,
  hexText,
  minorUnits,
  named,
  TX_HASH,
  timestamp,
  walletAddress,
} from "../../http/openapi/fields.ts";
import { funds, reasonCode, unit } from "../../http/openapi/ledger.ts";
import { flag, text } from "../../http/openapi/parameters.ts";
import {
  transactionState,
  walletRecordFields,
  walletTask,
  walletType,
} from "../managed/schemas.ts";
import { lowBalanceRecord } from "../rules/schemas.ts";

export const walletQuery = z.object({
  id: described(text(), "Id of the wallet.", "01m80ydypnw7zfztc441hghgzn"),
  walletType: described(
    walletType.optional(),
    "What the wallet has to be for; else it is not found.",
  ),
  includeSecret: described(
    flag(false),
    "Whether its mnemonic is shown, which is written to the audit log.",
    "true",
  ),
});

export type WalletQuery = z.output<typeof walletQuery>;

const OUTPUT = `${TX_HASH}#1`;

const ownOutput = named(
  "WalletOutput",
  "An output of a wallet.",
  z.object({
    output: answerText("`<transaction>#<index>`.", OUTPUT),
    amount: minorUnits("Minor units of the native coin in it."),
  }),
);

const outputs = named(
  "WalletOutputs",
  "What a wallet can spend now, after all of its transactions that live.",
  z.object({
    count: described(z.int().min(0), "How many outputs it can spend.", 7),
    largest: minorUnits("The most native coin that one of them holds, in minor units."),
    Line: described(
      ownOutput.nullable(),
      "The one that the next payment spends; null before the first.",
    ),
    Collateral: described(
      ownOutput.nullable(),
      "The one that is kept for collateral; null while none is.",
    ),
  }),
);

export type OutputsResponse = z.infer<typeof outputs>;

const pendingTransactions = named(
  "WalletTransactionUnderWay",
  "A transaction that is not deep enough in the chain to count.",
  z.object({
    txHash: hexText(64, "Hash of the transaction.", TX_HASH),
    state: described(transactionState, "How far it is.", "Sent"),
    since: timestamp("When it came to this state."),
    Tasks: described(z.array(walletTask), "What it does."),
  }),
);

const waiting = named(
  "WaitingWalletTask",
  "Something that a wallet shall do on the chain and has not begun.",
  walletTask.extend({
    reasonCode: described(reasonCode, "What it waits for.", "turn"),
    reason: answerText("The same for people.", "waits for its turn"),
    dueAt: timestamp("When it is tried next; in the past: at the next run."),
  }),
);

const holdUp = named(
  "WalletHold",
  "What holds up a whole wallet.",
  z.object({
    reasonCode: described(reasonCode, "Why it gets nothing done.", "provider"),
    reason: answerText("The same for people.", "waits for the chain provider: no answer in time"),
    since: timestamp("Since when anything has held it up."),
  }),
);

const spentElsewhere = named(
  "WalletSpentElsewhere",
  "Outputs of a wallet that transactions have spent which the service did not make: its key is used elsewhere.",
  z.object({
    pausedUntil: described(
      timestamp("").nullable(),
      "Until when automatic steps are paused, after three within an hour; null: no pause.",
      null,
    ),
    Outputs: described(
      z.array(
        named(
          "OutputSpentElsewhere",
          "An output that was spent elsewhere.",
          z.object({
            output: answerText("`<transaction>#<index>`.", OUTPUT),
            txHash: hexText(64, "Hash of the transaction that spent it.", TX_HASH),
            noticedAt: timestamp("When it was noticed."),
          }),
        ),
      ),
      "Those of the last seven days, the newest first; at most ten.",
    ),
  }),
);

export type ForeignSpendsResponse = z.infer<typeof spentElsewhere>;

const missing = named(
  "MissingFunds",
  "What has to be sent to a wallet.",
  z.object({
    unit,
    amount: minorUnits("Minor units of `unit` that are missing, at least."),
    sendTo: walletAddress("the wallet"),
    reason: answerText(
      "What it is missing for.",
      "below the threshold of the rule 01m80ye0a9x3fy0b7m2c5v8k1q",
    ),
  }),
);

export type MissingFunds = z.infer<typeof missing>;

const lowBalanceSummary = named(
  "LowBalanceSummary",
  "What the rules that watch a wallet found.",
  z.object({
    isLow: described(z.boolean(), "Whether a balance is below its threshold.", false),
    lowRuleCount: described(z.int().min(0), "Rules whose balance is below the threshold.", 0),
    lastCheckedAt: described(
      timestamp("").nullable(),
      "When a rule was last checked; null before.",
      "2026-11-22T06:17:26.922Z",
    ),
  }),
);

const shownFields = {
  ...walletRecordFields,
  Balance: described(
    funds.nullable(),
    "The address's current balance; null when the provider did not answer in time.",
  ),
  Outputs: described(
    outputs.nullable(),
    "What it can spend now; null when the provider did not answer in time.",
  ),
  Transactions: described(
    z.array(pendingTransactions),
    "Its transactions under way, the oldest first.",
  ),
  Waiting: described(
    z.array(waiting),
    "What it shall do and has not begun, the next first; at most 20 of each feature.",
  ),
  HeldUp: described(holdUp.nullable(), "What holds up the whole wallet; null: nothing does."),
  SpentElsewhere: described(
    spentElsewhere.nullable(),
    "What another user of its key has spent; null: nothing that was noticed.",
  ),
  Missing: described(
    z.array(missing),
    "What it lacks by the rules that watch it, and for what waits.",
  ),
  LowBalanceSummary: lowBalanceSummary,
};

/** A wallet as the list shows it. */
export const walletResponse = named(
  "ShownWallet",
  "A wallet of a payment source, with what it holds and does.",
  z.object(shownFields),
);

export type WalletResponse = z.infer<typeof walletResponse>;

/** A wallet as it is shown alone. */
export const walletDetailsResponse = named(
  "WalletInFull",
  "A wallet of a payment source, with all that is known of it.",
  z.object({
    ...shownFields,
    PendingTransaction: described(
      named(
        "PendingTransaction",
        "The oldest transaction of a wallet under way.",
        z.object({
          createdAt: timestamp("When it was stored."),
          updatedAt: timestamp("When its state last changed."),
          hash: hexText(64, "Hash of the transaction.", TX_HASH),
          lastCheckedAt: described(timestamp("").nullable(), "Not kept: always null.", null),
        }),
      ).nullable(),
      "The oldest of its transactions under way; null while there is none.",
    ),
    LowBalanceRules: described(z.array(lowBalanceRecord), "The rules that watch it, newest first."),
    Secret: described(
      named(
        "WalletSecret",
        "What a wallet's keys are derived from.",
        z.object({
          createdAt: timestamp("When the wallet was added."),
          updatedAt: timestamp("The same: it never changes."),
          mnemonic: answerText(
            "Its words.",
            "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
          ),
        }),
      ).optional(),
      "Only where `includeSecret` asks for it.",
    ),
  }),
);

export type WalletDetailsResponse = z.infer<typeof walletDetailsResponse>;
