/** What reads of payments and purchases take. */
import * as z from "zod";
import {
  network,
  onChainState,
  paymentSourceType,
  requestUnit,
} from "../../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_AGENT_IDENTIFIER,
  EXAMPLE_CONTRACT_ADDRESS,
  named,
  setDocumentSchema,
  timestampField,
} from "../../http/openapi/fields.ts";
import {
  booleanParameter,
  diffParameters,
  optionalTextParameter,
  pageParameters,
  textParameter,
  timeParameter,
  wholeNumberParameter,
} from "../../http/openapi/parameters.ts";
import {
  EXAMPLE_BLOCKCHAIN_IDENTIFIER,
  hexParameter,
  paymentActionName,
  purchaseActionName,
  purchaseErrorType,
  requestBlockchainIdentifier,
  requestedAction,
  stepName,
} from "./next-step-schemas.ts";
import { paymentRecord, purchaseRecord } from "./record-schemas.ts";

const includeHistory = described(
  booleanParameter(false),
  "Whether to include the transaction and status history: the newest 1,000 entries of each.",
);

const recordFilters = {
  filterSmartContractAddress: optionalTextParameter(
    "Only records of the contract with this address.",
    EXAMPLE_CONTRACT_ADDRESS,
  ),
  filterPaymentSourceType: described(
    paymentSourceType.optional(),
    "Only records of this contract generation. Omitted: all.",
  ),
};

export const diffQuery = z.object({
  ...diffParameters,
  network,
  ...recordFilters,
  includeHistory,
});

const filterNeedsManualAction = described(
  booleanParameter(false),
  "Whether to omit records without an error, which need no person.",
);

/** What lists and counts are narrowed to beside that. */
const creationFilters = {
  createdFrom: described(timeParameter().optional(), "Only records created at or after this time."),
  createdTo: described(timeParameter().optional(), "Only records created before this time."),
};

const BOUNDED_SEARCH_NOTE =
  "Searches the newest 5,000 records of each type that the other filters leave.";

const amountBoundParameter = (which: string) =>
  described(
    z
      .string()
      .regex(/^\d{1,18}$/, "must be a whole number below 10^18")
      .optional(),
    `Only records with a price of ${which} this amount of \`filterUnit\`, in minor units. Without a unit: of the native coin. ${BOUNDED_SEARCH_NOTE}`,
    "10000000",
  );

const deadlineBoundParameter = (when: string) =>
  described(
    timeParameter().optional(),
    `Only records with their next time limit ${when}. The limit is \`payByTime\` before a lock, \`submitResultTime\` in FundsLocked and RefundRequested, \`unlockTime\` in ResultSubmitted, \`externalDisputeUnlockTime\` in Disputed. ${BOUNDED_SEARCH_NOTE}`,
  );

export const listQuery = z.object({
  ...pageParameters,
  ...creationFilters,
  network,
  id: optionalTextParameter("Only the record with this id.", "01m80ye14arhma0jvpxvf6nc73"),
  blockchainIdentifier: described(
    textParameter(8000).optional(),
    "Only the record of this escrow.",
    EXAMPLE_BLOCKCHAIN_IDENTIFIER,
  ),
  filterOnChainState: described(
    onChainState.optional(),
    "Only records in this state.",
    "Withdrawn",
  ),
  filterAgentIdentifier: described(
    z
      .string()
      .regex(/^(?:[0-9a-fA-F]{2})+$/, "must be hex")
      .max(250)
      .transform((hex) => hex.toLowerCase())
      .optional(),
    "Only records of this agent: policy id and asset name in hex.",
    EXAMPLE_AGENT_IDENTIFIER,
  ),
  filterNeedsManualAction,
  filterRequestedAction: described(
    requestedAction.optional(),
    `Only records whose next action is this. ${BOUNDED_SEARCH_NOTE}`,
    "WaitingForManualAction",
  ),
  filterErrorType: described(
    purchaseErrorType.optional(),
    "Only records with an error of this kind.",
    "InsufficientFunds",
  ),
  filterWalletVkey: described(
    hexParameter(28).optional(),
    `Only records of this service's wallet with this payment key hash. ${BOUNDED_SEARCH_NOTE}`,
    "ec27d0f26c6ffc649cb0b2c66fe1fb03ce5ff3203c950e2a83680386",
  ),
  filterUnit: described(
    requestUnit.optional(),
    `Only records whose price has an amount of this unit: empty for the native coin, else policy id and asset name in hex. ${BOUNDED_SEARCH_NOTE}`,
    "",
  ),
  filterAmountFrom: amountBoundParameter("at least"),
  filterAmountTo: amountBoundParameter("at most"),
  filterDeadlineFrom: deadlineBoundParameter("at this time or later"),
  filterDeadlineTo: deadlineBoundParameter("before this time"),
  searchQuery: optionalTextParameter(
    "Only records with this text, in any case, in id, agent, agent name, input hash, transaction, wallet address or state. A whole hash also finds earlier transactions. Digits also match the beginning of an amount in whole coins. Searches the newest 5,000 records of each type that the other filters leave.",
    "Translator",
  ),
  ...recordFilters,
  includeHistory,
});

export const countQuery = z.object({
  network,
  ...creationFilters,
  ...recordFilters,
  filterNeedsManualAction,
  days: described(
    wholeNumberParameter({ min: 0, max: 31, default: 0 }),
    "Number of past days to count separately, in UTC and including today. `createdFrom` and `createdTo` do not limit these days.",
    7,
  ),
});

const countFields = {
  total: described(z.int().min(0), "Number of records.", 12),
  byState: described(
    z.array(
      named(
        "StateCount",
        "Number of records in a state.",
        z.object({
          onChainState: described(onChainState.nullable(), "The state. Null: not locked."),
          count: described(z.int().min(1), "Number of records.", 3),
        }),
      ),
    ),
    "Number of records by state, without empty states.",
  ),
};

export const recordCounts = z.object({
  ...countFields,
  byDay: described(
    z.array(
      named(
        "DayCount",
        "Number of records created on a day.",
        z.object({
          day: described(z.iso.date(), "The day in UTC.", "2026-11-22"),
          ...countFields,
        }),
      ),
    ),
    "The days that `days` requests, oldest first, each with the records created that day, by their current state.",
  ),
});

/** How many identifiers are resolved at once. */
const MAX_IDENTIFIERS = 100;

const identifiers = described(
  z.array(requestBlockchainIdentifier).max(MAX_IDENTIFIERS),
  "Identifiers of many escrows. The response is a list of the records that exist.",
);
const identifierLookupFields = {
  network,
  filterSmartContractAddress: described(
    textParameter().nullable().default(null),
    "Only records of the contract with this address.",
    EXAMPLE_CONTRACT_ADDRESS,
  ),
  includeHistory: described(
    z
      .string()
      .regex(/^(?:[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])$/, "must be true or false, as text")
      .default("false")
      .transform((text) => text.toLowerCase() === "true"),
    "`true` or `false`: whether to include the histories.",
    "false",
  ),
};

export const identifierLookupBody = setDocumentSchema(
  z
    .object({
      ...identifierLookupFields,
      blockchainIdentifier: requestBlockchainIdentifier.optional(),
      blockchainIdentifiers: identifiers.optional(),
    })
    .refine(
      ({ blockchainIdentifier: one, blockchainIdentifiers: many }) => (one ?? many) !== undefined,
      { path: ["blockchainIdentifier"], message: "is required, or blockchainIdentifiers" },
    ),
  z.union([
    z.object({ ...identifierLookupFields, blockchainIdentifier: requestBlockchainIdentifier }),
    z.object({ ...identifierLookupFields, blockchainIdentifiers: identifiers }),
  ]),
);

/** Shown with a record in the event of its deadline. */
export const nearDeadline = described(
  named(
    "NearDeadline",
    "Deadline of a step.",
    z.object({
      step: described(
        stepName,
        "Step that is not done. `requestedAction` begins with its name.",
        "SubmitResult",
      ),
      time: timestampField("Time after which the contract does not allow the step."),
    }),
  ),
  "The near deadline.",
);

function createChangeSchema<Shape extends z.ZodRawShape>(
  record: z.ZodObject<Shape>,
  requestedAction: z.ZodType<string, string>,
) {
  return record.extend({
    previous: described(
      z
        .object({
          onChainState: described(
            onChainState.nullable(),
            "State of the escrow before the change.",
          ),
          requestedAction: described(requestedAction, "Next action before the change."),
        })
        .nullable(),
      "The record before the change. Null: the record is new.",
    ),
  });
}

/** What an event about a payment or a purchase carries. */
export const paymentChange = named(
  "PaymentChange",
  "A changed payment.",
  createChangeSchema(paymentRecord, paymentActionName),
);
export const purchaseChange = named(
  "PurchaseChange",
  "A changed purchase.",
  createChangeSchema(purchaseRecord, purchaseActionName),
);
