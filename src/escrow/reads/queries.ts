/** What reads of payments and purchases take. */
import { z } from "zod";
import {
  AGENT_IDENTIFIER,
  CONTRACT_ADDRESS,
  described,
  shownAs,
} from "../../http/openapi/fields.ts";
import { network, onChainState, paymentSourceType } from "../../http/openapi/ledger.ts";
import { diffCursor, flag, limit, page, text, time } from "../../http/parameters.ts";
import { givenIdentifier, IDENTIFIER } from "../schemas.ts";

const includeHistory = described(
  flag(false),
  "Whether to include the transaction and status history: the newest 1,000 entries of each.",
);

const filters = {
  filterSmartContractAddress: described(
    text().optional(),
    "Only records of the contract with this address.",
    CONTRACT_ADDRESS,
  ),
  filterPaymentSourceType: described(
    paymentSourceType.optional(),
    "Only records of this generation of the contract; without it, of all.",
  ),
};

export const diffQuery = z.object({
  limit: limit(),
  cursorId: diffCursor("lastUpdate"),
  lastUpdate: described(
    time("1970-01-01T00:00:00.000Z"),
    "Stamp from which changes are returned; without it, all of them.",
  ),
  network,
  ...filters,
  includeHistory,
});

const filterNeedsManualAction = described(
  flag(false),
  "Whether to leave out the records that need nobody: those without an error.",
);

export const listQuery = z.object({
  ...page,
  network,
  id: described(text().optional(), "Only the record with this id.", "01m80ye14arhma0jvpxvf6nc73"),
  blockchainIdentifier: described(
    text(8000).optional(),
    "Only the record of this escrow.",
    IDENTIFIER,
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
    AGENT_IDENTIFIER,
  ),
  filterNeedsManualAction,
  searchQuery: described(
    text().optional(),
    "Only records with this text, in any case, in their id, agent, agent's name, input hash, transaction, wallet's address or state, or with an amount that begins with these digits, in whole coins. The newest 5,000 of each type that the other filters leave are searched.",
    "Translator",
  ),
  ...filters,
  includeHistory,
});

export const countQuery = z.object({ network, ...filters, filterNeedsManualAction });

/** How many identifiers are resolved at once. */
const MOST_IDENTIFIERS = 100;

const identifiers = described(
  z.array(givenIdentifier).min(1).max(MOST_IDENTIFIERS),
  "Identifiers of many escrows. The answer is a list; those without a record are left out.",
);
const resolveFields = {
  network,
  filterSmartContractAddress: described(
    text().nullable().default(null),
    "Only records of the contract with this address.",
    CONTRACT_ADDRESS,
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

export const resolveBody = shownAs(
  z
    .object({
      ...resolveFields,
      blockchainIdentifier: givenIdentifier.optional(),
      blockchainIdentifiers: identifiers.optional(),
    })
    .refine(
      ({ blockchainIdentifier: one, blockchainIdentifiers: many }) => (one ?? many) !== undefined,
      { path: ["blockchainIdentifier"], message: "is required, or blockchainIdentifiers" },
    ),
  z.union([
    z.object({ ...resolveFields, blockchainIdentifier: givenIdentifier }),
    z.object({ ...resolveFields, blockchainIdentifiers: identifiers }),
  ]),
);
