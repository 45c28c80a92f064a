import * as z from "zod";
import { actingWallet, blockFields } from "../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_AGENT_IDENTIFIER,
  EXAMPLE_TX_HASH,
  hexField,
  idField,
  minorUnitsField,
  named,
  nullableTextField,
  nullableTimestampField,
  settingWarnings,
  textField,
  timestampField,
} from "../http/openapi/fields.ts";
import { metadataFields } from "../registry/entries/schemas.ts";
import { REGISTRATION_STATES } from "./states.ts";

export const EXAMPLE_ID = "01m80ydzjz46b1xn813egtkkv2";

export const registrationState = named(
  "RegistrationState",
  "State of a registration.",
  z.enum(REGISTRATION_STATES),
);

/** What the records of agents and of inbox agents have in common. */
export const commonRegistrationFields = {
  id: idField("the registration", EXAMPLE_ID),
  error: nullableTextField(
    "Why the registration failed and how to fix it, or what it waits for. Null: neither.",
    "The wallet has too little of the native coin",
  ),
  state: described(registrationState, "State of the registration.", "RegistrationConfirmed"),
  registrationStateLastChangedAt: timestampField("Stamp of the last change of the state."),
  createdAt: timestampField("Time of the request."),
  updatedAt: timestampField("Time of the last change."),
  lastCheckedAt: nullableTimestampField(
    "Time of the last check of the chain. Null: none yet.",
    "2026-11-22T06:17:26.715Z",
  ),
  agentIdentifier: textField(
    "Policy id and asset name, in hex. Empty: not minted yet. A confirmed update changes it.",
    EXAMPLE_AGENT_IDENTIFIER,
  ),
  sendFundingMinorUnit: described(
    minorUnitsField("").nullable(),
    "Native coin sent with the token, in minor units. Null: the minimum.",
    "5000000",
  ),
  SmartContractWallet: described(actingWallet, "Selling wallet that pays for the registration."),
  RecipientWallet: described(
    actingWallet.nullable(),
    "Recipient of the token. Null: the selling wallet.",
  ),
  CurrentTransaction: described(
    named(
      "RegistrationTransaction",
      "A transaction that mints or burns a token, or both.",
      z.object({
        txHash: hexField(64, "Hash of the transaction.", EXAMPLE_TX_HASH),
        status: described(
          named(
            "RegistrationTransactionStatus",
            "Status of a transaction that mints or burns a token.",
            z.enum(["Pending", "Confirmed", "FailedViaTimeout", "FailedViaManualReset"]),
          ),
          "Status of the transaction.",
          "Confirmed",
        ),
        fees: minorUnitsField("Fee in minor units of the native coin.", "209167"),
        ...blockFields,
      }),
    ).nullable(),
    "Newest transaction. Null: none yet.",
  ),
};

export const agentRegistrationRecord = named(
  "AgentRegistration",
  "An agent that this service registered.",
  z.object({ ...metadataFields, ...commonRegistrationFields }),
);

/** What registering and updating an agent answer. */
export const requestedAgent = named(
  "RequestedAgentRegistration",
  "An agent whose registration or update was requested.",
  agentRegistrationRecord.extend({
    Warnings: settingWarnings,
  }),
);
