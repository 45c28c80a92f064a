import * as z from "zod";
import { funds, reasonCode, unit } from "../../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_TX_HASH,
  hexField,
  minorUnitsField,
  named,
  nullableTimestampField,
  textField,
  timestampField,
  walletAddressField,
} from "../../http/openapi/fields.ts";
import { booleanParameter, textParameter } from "../../http/openapi/parameters.ts";
import {
  transactionState,
  walletRecordFields,
  walletTask,
  walletType,
} from "../managed/schemas.ts";
import { lowBalanceRecord } from "../rules/schemas.ts";

export const walletQuery = z.object({
  id: described(textParameter(), "Id of the wallet.", "01m80ydypnw7zfztc441hghgzn"),
  walletType: described(walletType.optional(), "Type of the wallet. Another type gets 404."),
  includeSecret: described(
    booleanParameter(false),
    "Whether to show the mnemonic. The audit log records this.",
    "true",
  ),
});

export type WalletQuery = z.output<typeof walletQuery>;

const EXAMPLE_OUTPUT = `${EXAMPLE_TX_HASH}#1`;

const walletOutput = named(
  "WalletOutput",
  "An output of a wallet.",
  z.object({
    output: textField("`<transaction>#<index>`.", EXAMPLE_OUTPUT),
    amount: minorUnitsField("Native coin in the output, in minor units."),
  }),
);

const walletOutputs = named(
  "WalletOutputs",
  "Outputs that a wallet can spend now, after its pending transactions.",
  z.object({
    count: described(z.int().min(0), "Number of spendable outputs.", 7),
    largest: minorUnitsField("Native coin of the largest output, in minor units."),
    Line: described(
      walletOutput.nullable(),
      "Output that the next payment spends. Null: none yet.",
    ),
    Collateral: described(walletOutput.nullable(), "Output reserved for collateral. Null: none."),
  }),
);

export type OutputsResponse = z.infer<typeof walletOutputs>;

const pendingTransactions = named(
  "WalletTransactionUnderWay",
  "A transaction without enough confirmations.",
  z.object({
    txHash: hexField(64, "Hash of the transaction.", EXAMPLE_TX_HASH),
    state: described(transactionState, "State of the transaction.", "Sent"),
    since: timestampField("Since when the transaction is in this state."),
    Tasks: described(z.array(walletTask), "Tasks of the transaction."),
  }),
);

const waitingTask = named(
  "WaitingWalletTask",
  "A waiting task of a wallet.",
  walletTask.extend({
    reasonCode: described(reasonCode, "What the task waits for.", "turn"),
    reason: textField("Explanation for people.", "waits for its turn"),
    dueAt: timestampField("Time of the next try. In the past: at the next run."),
  }),
);

const walletBlocker = named(
  "WalletHold",
  "A blocker of a whole wallet.",
  z.object({
    reasonCode: described(reasonCode, "Kind of the blocker.", "provider"),
    reason: textField("Explanation for people.", "waits for the chain provider: no answer in time"),
    since: timestampField("Since when the wallet is blocked."),
  }),
);

const foreignSpends = named(
  "WalletSpentElsewhere",
  "Outputs of a wallet that foreign transactions spent: another program uses the wallet's key.",
  z.object({
    pausedUntil: nullableTimestampField(
      "Time until which automatic steps pause, after three such outputs within an hour. Null: no pause.",
      null,
    ),
    Outputs: described(
      z.array(
        named(
          "OutputSpentElsewhere",
          "An output that a foreign transaction spent.",
          z.object({
            output: textField("`<transaction>#<index>`.", EXAMPLE_OUTPUT),
            txHash: hexField(64, "Hash of the transaction that spent the output.", EXAMPLE_TX_HASH),
            noticedAt: timestampField("Time of discovery."),
          }),
        ),
      ),
      "Outputs of the last seven days, newest first; at most ten.",
    ),
  }),
);

export type ForeignSpendsResponse = z.infer<typeof foreignSpends>;

const missingFunds = named(
  "MissingFunds",
  "Funds that a wallet lacks.",
  z.object({
    unit,
    amount: minorUnitsField("Missing minor units of `unit`, at least."),
    sendTo: walletAddressField("the wallet"),
    reason: textField(
      "Purpose of the missing funds.",
      "below 5000000, the threshold of the rule 01m80ye0a9x3fy0b7m2c5v8k1q",
    ),
  }),
);

export type MissingFunds = z.infer<typeof missingFunds>;

const lowBalanceSummary = named(
  "LowBalanceSummary",
  "What the rules that watch a wallet found.",
  z.object({
    isLow: described(z.boolean(), "Whether a balance is below its threshold.", false),
    lowRuleCount: described(z.int().min(0), "Rules whose balance is below the threshold.", 0),
    lastCheckedAt: nullableTimestampField("When a rule was last checked; null before."),
  }),
);

const walletResponseFields = {
  ...walletRecordFields,
  Balance: described(
    funds.nullable(),
    "Current balance of the address. Null: the provider did not answer in time.",
  ),
  Outputs: described(
    walletOutputs.nullable(),
    "Outputs that the wallet can spend now. Null: the provider did not answer in time.",
  ),
  Transactions: described(
    z.array(pendingTransactions),
    "Pending transactions of the wallet, oldest first.",
  ),
  Waiting: described(
    z.array(waitingTask),
    "Waiting tasks of the wallet, next first; at most 20 of each feature.",
  ),
  HeldUp: described(walletBlocker.nullable(), "What blocks the whole wallet. Null: nothing."),
  SpentElsewhere: described(
    foreignSpends.nullable(),
    "Outputs that foreign transactions spent. Null: none noticed.",
  ),
  Missing: described(
    z.array(missingFunds),
    "Funds that the wallet lacks for its balance rules and waiting tasks.",
  ),
  LowBalanceSummary: lowBalanceSummary,
};

/** A wallet as the list shows it. */
export const walletResponse = named(
  "ShownWallet",
  "A wallet of a payment source, with its balance and tasks.",
  z.object(walletResponseFields),
);

export type WalletResponse = z.infer<typeof walletResponse>;

/** A wallet as it is shown alone. */
export const walletDetailsResponse = named(
  "WalletInFull",
  "A wallet of a payment source, with all details.",
  z.object({
    ...walletResponseFields,
    PendingTransaction: described(
      named(
        "PendingTransaction",
        "The oldest pending transaction of a wallet.",
        z.object({
          createdAt: timestampField("Time of storage."),
          updatedAt: timestampField("When the state last changed."),
          hash: hexField(64, "Hash of the transaction.", EXAMPLE_TX_HASH),
          lastCheckedAt: nullableTimestampField("Always null.", null),
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
          createdAt: timestampField("When the wallet was added."),
          updatedAt: timestampField("The same as `createdAt`."),
          mnemonic: textField(
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
