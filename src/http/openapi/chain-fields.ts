/** What several features say of the ledger in requests and answers. */
import * as z from "zod";
import { NETWORKS, ON_CHAIN_STATES, PAYMENT_SOURCE_TYPES } from "../../chain/network.ts";
import { normalizeUnit, quoteUnit, TOKEN_PATTERN, UNIT_PATTERN } from "../../chain/unit.ts";
import { REASON_CODES } from "../../reason-codes.ts";
import {
  described,
  EXAMPLE_AGENT_IDENTIFIER,
  EXAMPLE_POLICY_ID,
  minorUnitsField,
  named,
  walletAddressField,
  walletVkeyField,
} from "./fields.ts";
import { textParameter } from "./parameters.ts";

export const network = described(
  named("Network", "A network of the ledger.", z.enum(NETWORKS)),
  "Network of the ledger.",
  "Preprod",
);

const sourceType = named(
  "PaymentSourceType",
  "A generation of the escrow contract.",
  z.enum(PAYMENT_SOURCE_TYPES),
);
export const paymentSourceType = described(
  sourceType,
  "Generation of the escrow contract.",
  "Web3ChainV2",
);
/** The other name that answers have of it. */
export const paymentType = described(sourceType, "The same as `paymentSourceType`.", "Web3ChainV2");

export const onChainState = described(
  named("OnChainState", "A state of an escrow on the chain.", z.enum(ON_CHAIN_STATES)),
  "State of the escrow on the chain.",
  "FundsLocked",
);

export const reasonCode = named(
  "ReasonCode",
  "What a wallet's task waits for: `turn`: its turn. `provider`: the chain provider. `funds`: more funds. `chain`: blocks or other transactions. `failing`: the next try after a failed one. `source`: a setting of its wallet or payment source. `person`: a person's decision.",
  z.enum(REASON_CODES),
);

const UNIT_DESCRIPTION = "Empty for the native coin, else policy id and asset name in hex.";

/** The unit in an answer. A price that was minted elsewhere may be in any text. */
export const unit = described(z.string(), UNIT_DESCRIPTION, "");

function explainUnit(sent: unknown): string {
  return `must be "" for the native coin, or policy id and asset name in hex, not ${quoteUnit(String(sent))}`;
}

/** The name of a member that is a unit, in the spelling in which it was sent. */
export const unitKey = z.string().regex(UNIT_PATTERN, { error: ({ input }) => explainUnit(input) });

/** The unit that a request names, in any of its spellings. */
export const requestUnit = described(unitKey.transform(normalizeUnit), UNIT_DESCRIPTION, "");

const X402_LIMITS = "x402 payments have budgets instead. Set one with `POST /x402/budgets`";

/** The unit of a key's limit. The error for a token of an EVM chain names what limits x402 payments. */
export const spendableUnit = described(
  z
    .string()
    .regex(UNIT_PATTERN, {
      error: ({ input }) =>
        String(input).startsWith("eip155:") ? X402_LIMITS : explainUnit(input),
    })
    .transform(normalizeUnit),
  UNIT_DESCRIPTION,
  "",
);

/** The unit of a token that a request names, in either letter case. */
export const requestToken = described(
  z
    .string()
    .regex(TOKEN_PATTERN, {
      error: ({ input }) =>
        `must be policy id and asset name in hex, not ${quoteUnit(String(input))}`,
    })
    .transform(normalizeUnit),
  "Policy id and asset name of a token, in hex.",
  `${EXAMPLE_POLICY_ID}746f6b656e`,
);

/** The agent that a request names, taken in lower case as the chain's providers have it. */
export const requestAgentIdentifier = described(
  z
    .string()
    .regex(/^(?:[0-9a-fA-F]{2})*$/, "must be hex")
    .min(57)
    .max(250)
    .transform((hex) => hex.toLowerCase()),
  "Policy id and asset name of the agent, in hex.",
  EXAMPLE_AGENT_IDENTIFIER,
);

/** Amounts of assets in an answer. */
export const funds = z.array(
  named(
    "Funds",
    "An amount of one asset.",
    z.object({ amount: minorUnitsField("Minor units of `unit`."), unit }),
  ),
);

/** Where a transaction stands on the chain. */
export const blockFields = {
  blockHeight: described(
    z.int().min(0).nullable(),
    "Height of the block. Null: not in a block yet.",
    49,
  ),
  blockTime: described(
    z.int().min(0).nullable(),
    "Time of the block, in Unix seconds. Null: not in a block yet.",
    1795328245,
  ),
  confirmations: described(
    z.int().min(0).nullable(),
    "Number of blocks from the transaction's block to the newest, inclusive. Null: not in a block yet.",
    31,
  ),
};

/** The wallet of this service that acts for a record. */
export const actingWallet = named(
  "WalletAddress",
  "Key hash and address of a wallet.",
  z.object({
    walletVkey: walletVkeyField("the wallet"),
    walletAddress: walletAddressField("the wallet"),
  }),
);

/** An address of the ledger in a request; its checksum and network are checked by the feature. */
export function bech32AddressParameter() {
  return textParameter().meta({ format: "bech32-address" });
}
