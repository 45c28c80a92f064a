import * as z from "zod";
import { network, paymentSourceType } from "../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_AGENT_IDENTIFIER,
  EXAMPLE_CONTRACT_ADDRESS,
  named,
} from "../http/openapi/fields.ts";
import {
  diffParameters,
  optionalTextParameter,
  pageParameters,
  textParameter,
} from "../http/openapi/parameters.ts";
import { registrationState } from "./record-schemas.ts";
import { STATUS_FILTERS } from "./states.ts";

const sourceFilters = {
  network,
  filterSmartContractAddress: optionalTextParameter(
    "Only registrations of the payment source with this contract.",
    EXAMPLE_CONTRACT_ADDRESS,
  ),
  filterPaymentSourceType: described(
    paymentSourceType.optional(),
    "Only registrations of this contract generation.",
  ),
};

export const registrationListQuery = z.object({
  ...pageParameters,
  filterState: described(
    registrationState.optional(),
    "Only registrations in this state.",
    "RegistrationConfirmed",
  ),
  filterStatus: described(
    named(
      "RegistrationGroup",
      "A group of states of registrations.",
      z.enum(Object.keys(STATUS_FILTERS) as [keyof typeof STATUS_FILTERS]),
    ).optional(),
    "Only registrations in this group of states.",
    "Registered",
  ),
  filterAgentIdentifier: optionalTextParameter(
    "Only the agent with this identifier.",
    EXAMPLE_AGENT_IDENTIFIER,
  ),
  searchQuery: described(
    textParameter(120).optional(),
    "A part of the name, or the whole id or agent identifier.",
    "translat",
  ),
  ...sourceFilters,
});

export const registrationDiffQuery = z.object({
  ...diffParameters,
  ...sourceFilters,
});

export const registrationCountQuery = z.object(sourceFilters);

export const registrationCounts = z.object({
  total: described(z.int().min(0), "Number of registrations.", 12),
  byState: described(
    z.array(
      named(
        "RegistrationStateCount",
        "Number of registrations in a state.",
        z.object({
          state: described(registrationState, "The state.", "RegistrationConfirmed"),
          count: described(z.int().min(1), "Number of registrations.", 3),
        }),
      ),
    ),
    "Number of registrations by state, without empty states.",
  ),
});
