import * as z from "zod";
import { version } from "../../package.json";
import { described, textField } from "../http/openapi/fields.ts";
import { externalPaymentSources, toExternalPaymentSources } from "./payment-sources.ts";

export type JsonObject = Record<string, unknown>;

/** Fields of an operation's answers that clients of other services read. */
interface AnswerFields {
  /** Path from `data` to the records. A list passes the path on to each of its items. */
  at: readonly string[];
  schema: z.ZodRawShape;
  /** Builds the fields from a record, which has the names of this deployment. */
  fieldsOf: (record: JsonObject) => JsonObject;
}

const AGENT_FIELDS = {
  schema: {
    supportedPaymentSources: externalPaymentSources,
    verifications: described(z.null(), "Always null: the service reads no verifications.", null),
  },
  fieldsOf: ({ SupportedPaymentSources: sources }: JsonObject) => ({
    supportedPaymentSources: toExternalPaymentSources(sources),
    verifications: null,
  }),
};

const NETWORK_FIELDS = {
  schema: {
    facilitatorUrl: described(
      z.null(),
      "Always null: the service settles with its own wallets.",
      null,
    ),
  },
  fieldsOf: () => ({ facilitatorUrl: null }),
};

const SERVICE_TYPE = "masumi-registry";

export const ANSWER_FIELDS: Readonly<Record<string, AnswerFields>> = {
  "GET /registry": { at: ["Assets"], ...AGENT_FIELDS },
  "GET /registry/diff": { at: ["Assets"], ...AGENT_FIELDS },
  "GET /registry/wallet": { at: ["Assets", "Metadata"], ...AGENT_FIELDS },
  "GET /registry/agent-identifier": { at: ["Metadata"], ...AGENT_FIELDS },
  "POST /registry": { at: [], ...AGENT_FIELDS },
  "POST /registry/update": { at: [], ...AGENT_FIELDS },
  "POST /registry/deregister": { at: [], ...AGENT_FIELDS },
  "DELETE /registry": { at: [], ...AGENT_FIELDS },
  "GET /x402/networks": { at: ["Networks"], ...NETWORK_FIELDS },
  "POST /x402/networks": { at: [], ...NETWORK_FIELDS },
  "GET /x402/networks/available": {
    at: ["Networks"],
    schema: { isEnabled: described(z.literal(true), "The list has enabled networks alone.", true) },
    fieldsOf: () => ({ isEnabled: true }),
  },
  "GET /health": {
    at: [],
    schema: {
      type: textField("Kind of the service.", SERVICE_TYPE),
      version: textField("Version of the service.", version),
    },
    fieldsOf: () => ({ type: SERVICE_TYPE, version }),
  },
};
