import * as z from "zod";
import { version } from "../../package.json";
import type { Env } from "../env.ts";
import { described, textField, timestampField } from "../http/openapi/fields.ts";
import { verifications } from "../registry/entries/verification.ts";
import { EXAMPLE_ATTEMPT_ID, EXAMPLE_PAYER } from "../x402/model/schemas.ts";
import { entryVerifications, toEntryVerifications } from "./entry-verifications.ts";
import { INVOICE_FIELDS, UNINVOICED_FIELDS } from "./invoice-fields.ts";
import { externalPaymentSources, toExternalPaymentSources } from "./payment-sources.ts";
import { SOURCE_FIELDS } from "./source-fields.ts";
import { WEBHOOK_FIELDS } from "./webhook-routes.ts";

export type JsonObject = Record<string, unknown>;

/** Fields of an operation's answers that clients of other services read. */
interface AnswerFields {
  /** Path from `data` to the records. A list passes the path on to each of its items. */
  at: readonly string[];
  schema: z.ZodRawShape;
  /** Ends the name of the records' schema, where other operations answer without the fields. */
  suffix?: string;
  /**
   * Builds the fields from a record, which has the names of this deployment. The fields of a diff of
   * payments must not depend on the record: the tag of the diff is known before its records.
   */
  fieldsOf: (record: JsonObject, env: Env) => JsonObject;
}

const AGENT_FIELDS = {
  schema: {
    supportedPaymentSources: externalPaymentSources,
    verifications: described(verifications.nullable(), "Credentials about an agent. Null: none."),
  },
  fieldsOf: ({ SupportedPaymentSources: sources, Verifications: found }: JsonObject) => ({
    supportedPaymentSources: toExternalPaymentSources(sources),
    verifications: (found as unknown[]).length > 0 ? found : null,
  }),
};

const IDENTIFIER_FIELDS = {
  schema: { agentIdentifier: described(z.string().nullable(), "Null: not minted yet.") },
  fieldsOf: ({ agentIdentifier: found }: JsonObject) => ({ agentIdentifier: found || null }),
};

/** Agents of this service have an `apiBaseUrl`: the other kinds of agents have one of these URLs. */
const REGISTRATION_FIELDS = {
  schema: {
    ...AGENT_FIELDS.schema,
    ...IDENTIFIER_FIELDS.schema,
    type: described(z.literal("Standard"), "The agent has an `apiBaseUrl`.", "Standard"),
    openApiSpecUrl: described(z.null(), "Always null.", null),
    x402ResourcesUrl: described(z.null(), "Always null.", null),
  },
  fieldsOf: (one: JsonObject) => ({
    ...AGENT_FIELDS.fieldsOf(one),
    ...IDENTIFIER_FIELDS.fieldsOf(one),
    ...{ type: "Standard", openApiSpecUrl: null, x402ResourcesUrl: null },
  }),
};

const TRANSFER_STATUSES: JsonObject = { Sent: "Pending", Failed: "FailedViaTimeout" };
const TRANSFER_FIELDS = {
  schema: { status: described(z.enum(["Pending", "Confirmed", "FailedViaTimeout"]), "Status.") },
  fieldsOf: ({ status }: JsonObject) => ({ status: TRANSFER_STATUSES[`${status}`] ?? status }),
};

/** The registry service's entries list credentials without nested objects. */
const ENTRY_FIELDS = {
  schema: { Verifications: entryVerifications },
  fieldsOf: (one: JsonObject) => ({ Verifications: toEntryVerifications(one.Verifications) }),
};

const SETTLEMENT_FIELDS = {
  schema: {
    paymentAttemptId: textField("Another name of `attemptId`.", EXAMPLE_ATTEMPT_ID),
    updatedAt: timestampField("The same as `createdAt`."),
  },
  fieldsOf: (one: JsonObject) => ({ paymentAttemptId: one.attemptId, updatedAt: one.createdAt }),
};

const optionalText = (what: string, example: string) =>
  described(z.string().optional(), `${what} Omitted: none.`, example);

/** The SDK's answer: it leaves out what there is not. */
const VERIFY_FIELDS = {
  schema: {
    verifyResponse: described(
      z.object({
        isValid: described(z.boolean(), "Whether the payment would settle.", true),
        payer: optionalText("Address of the payer.", EXAMPLE_PAYER),
        invalidReason: optionalText("Reason code of x402.", "insufficient_funds"),
        invalidMessage: optionalText("Explanation.", "The payer holds too little"),
      }),
      "The same as the fields beside it, as x402 has them.",
    ),
  },
  fieldsOf: ({ isValid, payer, invalidReason, invalidMessage }: JsonObject) => {
    const named = Object.entries({ payer, invalidReason, invalidMessage });
    const known = named.filter(([, value]) => value !== null);
    return { verifyResponse: { isValid, ...Object.fromEntries(known) } };
  },
};

const PAYMENT_FIELDS = {
  suffix: "WithActionHistory",
  schema: { ActionHistory: described(z.null(), "Always null: purchases alone have one.", null) },
  fieldsOf: () => ({ ActionHistory: null }),
};

const listFields = (path: string, fields: Omit<AnswerFields, "at">) => ({
  [`GET ${path}`]: { at: ["Assets"], ...fields },
  [`GET ${path}/diff`]: { at: ["Assets"], ...fields },
  [`POST ${path}`]: { at: [], ...fields },
  [`POST ${path}/deregister`]: { at: [], ...fields },
  [`DELETE ${path}`]: { at: [], ...fields },
});

const SERVICE_TYPE = "masumi-registry";

export const ANSWER_FIELDS: Readonly<Record<string, AnswerFields>> = {
  "GET /registry/wallet": { at: ["Assets", "Metadata"], ...AGENT_FIELDS },
  "GET /registry/agent-identifier": { at: ["Metadata"], ...AGENT_FIELDS },
  "POST /registry/update": { at: [], ...REGISTRATION_FIELDS },
  ...listFields("/registry", REGISTRATION_FIELDS),
  ...listFields("/inbox-agents", IDENTIFIER_FIELDS),
  ...listFields("/registry-inbox", IDENTIFIER_FIELDS),
  "GET /wallet/transfer-funds": { at: ["transfers"], ...TRANSFER_FIELDS },
  "POST /wallet/transfer-funds": { at: [], ...TRANSFER_FIELDS },
  "GET /webhooks": { at: ["Webhooks"], ...WEBHOOK_FIELDS },
  "POST /webhooks": { at: [], ...WEBHOOK_FIELDS },
  "PATCH /webhooks": { at: [], ...WEBHOOK_FIELDS },
  "POST /registry-diff": { at: ["entries"], ...ENTRY_FIELDS },
  "POST /registry-entry": { at: ["entries"], ...ENTRY_FIELDS },
  "POST /registry-entry-search": { at: ["entries"], ...ENTRY_FIELDS },
  "GET /payment-information": { at: [], ...ENTRY_FIELDS },
  "GET /payment": { at: ["Payments"], ...PAYMENT_FIELDS },
  "GET /payment/diff": { at: ["Payments"], ...PAYMENT_FIELDS },
  "GET /payment/diff/next-action": { at: ["Payments"], ...PAYMENT_FIELDS },
  "GET /payment/diff/onchain-state-or-result": { at: ["Payments"], ...PAYMENT_FIELDS },
  "POST /payment/resolve-blockchain-identifier": { at: [], ...PAYMENT_FIELDS },
  "GET /payment-source-extended": { at: ["ExtendedPaymentSources"], ...SOURCE_FIELDS },
  "POST /payment-source-extended": { at: [], ...SOURCE_FIELDS },
  "PATCH /payment-source-extended": { at: [], ...SOURCE_FIELDS },
  "DELETE /payment-source-extended": { at: [], ...SOURCE_FIELDS },
  "GET /invoice/monthly": { at: ["Invoices"], ...INVOICE_FIELDS },
  "GET /invoice/monthly/missing": { at: ["UninvoicedPayments"], ...UNINVOICED_FIELDS },
  "GET /x402/networks/available": {
    at: ["Networks"],
    schema: { isEnabled: described(z.literal(true), "The list has enabled networks alone.", true) },
    fieldsOf: () => ({ isEnabled: true }),
  },
  "GET /x402/settlements": { at: ["Settlements"], ...SETTLEMENT_FIELDS },
  "POST /x402/verify": { at: [], ...VERIFY_FIELDS },
  "GET /health": {
    at: [],
    schema: {
      type: textField("Kind of the service.", SERVICE_TYPE),
      version: textField("Version of the service.", version),
    },
    fieldsOf: () => ({ type: SERVICE_TYPE, version }),
  },
};
