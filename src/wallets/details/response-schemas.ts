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
  walletType: described(walletType.optional(), "Type of the wallet. Another type gets 404."),
  includeSecret: described(
    flag(false),
    "Whether to show the mnemonic. The audit log records this.",
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
    amount: minorUnits("Native coin in the output, in minor units."),
  }),
);

const outputs = named(
  "WalletOutputs",
  "Outputs that a wallet can spend now, after its pending transactions.",
  z.object({
    count: described(z.int().min(0), "Number of spendable outputs.", 7),
    largest: minorUnits("Native coin of the largest output, in minor units."),
    Line: described(ownOutput.nullable(), "Output that the next payment spends. Null: none yet."),
    Collateral: described(ownOutput.nullable(), "Output reserved for collateral. Null: none."),
  }),
);

export type OutputsResponse = z.infer<typeof outputs>;

const pendingTransactions = named(
  "WalletTransactionUnderWay",
  "A transaction without enough confirmations.",
  z.object({
    txHash: hexText(64, "Hash of the transaction.", TX_HASH),
    state: described(transactionState, "State of the transaction.", "Sent"),
    since: timestamp("Since when the transaction is in this state."),
    Tasks: described(z.array(walletTask), "Tasks of the transaction."),
  }),
);

const waiting = named(
  "WaitingWalletTask",
  "A waiting task of a wallet.",
  walletTask.extend({
    reasonCode: described(reasonCode, "What the task waits for.", "turn"),
    reason: answerText("Explanation for people.", "waits for its turn"),
    dueAt: timestamp("Time of the next try. In the past: at the next run."),
  }),
);

const holdUp = named(
  "WalletHold",
  "A blocker of a whole wallet.",
  z.object({
    reasonCode: described(reasonCode, "Kind of the blocker.", "provider"),
    reason: answerText(
      "Explanation for people.",
      "waits for the chain provider: no answer in time",
    ),
    since: timestamp("Since when the wallet is blocked."),
  }),
);

const spentElsewhere = named(
  "WalletSpentElsewhere",
  "Outputs of a wallet that foreign transactions spent: another program uses the wallet's key.",
  z.object({
    pausedUntil: described(
      timestamp("").nullable(),
      "Time until which automatic steps pause, after three such outputs within an hour. Null: no pause.",
      null,
    ),
    Outputs: described(
      z.array(
        named(
          "OutputSpentElsewhere",
          "An output that a foreign transaction spent.",
          z.object({
            output: answerText("`<transaction>#<index>`.", OUTPUT),
            txHash: hexText(64, "Hash of the transaction that spent the output.", TX_HASH),
            noticedAt: timestamp("Time of discovery."),
          }),
        ),
      ),
      "Outputs of the last seven days, newest first; at most ten.",
    ),
  }),
);

export type ForeignSpendsResponse = z.infer<typeof spentElsewhere>;

const missing = named(
  "MissingFunds",
  "Funds that a wallet lacks.",
  z.object({
    unit,
    amount: minorUnits("Missing minor units of `unit`, at least."),
    sendTo: walletAddress("the wallet"),
    reason: answerText(
      "Purpose of the missing funds.",
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
    "Current balance of the address. Null: the provider did not answer in time.",
  ),
  Outputs: described(
    outputs.nullable(),
    "Outputs that the wallet can spend now. Null: the provider did not answer in time.",
  ),
  Transactions: described(
    z.array(pendingTransactions),
    "Pending transactions of the wallet, oldest first.",
  ),
  Waiting: described(
    z.array(waiting),
    "Waiting tasks of the wallet, next first; at most 20 of each feature.",
  ),
  HeldUp: described(holdUp.nullable(), "What blocks the whole wallet. Null: nothing."),
  SpentElsewhere: described(
    spentElsewhere.nullable(),
    "Outputs that foreign transactions spent. Null: none noticed.",
  ),
  Missing: described(
    z.array(missing),
    "Funds that the wallet lacks for its balance rules and waiting tasks.",
  ),
  LowBalanceSummary: lowBalanceSummary,
};

/** A wallet as the list shows it. */
export const walletResponse = named(
  "ShownWallet",
  "A wallet of a payment source, with its balance and tasks.",
  z.object(shownFields),
);

export type WalletResponse = z.infer<typeof walletResponse>;

/** A wallet as it is shown alone. */
export const walletDetailsResponse = named(
  "WalletInFull",
  "A wallet of a payment source, with all details.",
  z.object({
    ...shownFields,
    PendingTransaction: described(
      named(
        "PendingTransaction",
        "The oldest pending transaction of a wallet.",
        z.object({
          createdAt: timestamp("Time of storage."),
          updatedAt: timestamp("When the state last changed."),
          hash: hexText(64, "Hash of the transaction.", TX_HASH),
          lastCheckedAt: described(timestamp("").nullable(), "Always null.", null),
        }),
      ).nullable(),
      "Oldest pending transaction. Null: none.",
    ),
    LowBalanceRules: described(
      z.array(lowBalanceRecord),
      "Balance rules of the wallet, newest first.",
    ),
    Secret: described(
      named(
        "WalletSecret",
        "Secret of a wallet's keys.",
        z.object({
          createdAt: timestamp("When the wallet was added."),
          updatedAt: timestamp("The same as `createdAt`."),
          mnemonic: answerText(
            "Words of the mnemonic.",
            "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
          ),
        }),
      ).optional(),
      "Secret of the wallet. Only with `includeSecret`.",
    ),
  }),
);

export type WalletDetailsResponse = z.infer<typeof walletDetailsResponse>;
