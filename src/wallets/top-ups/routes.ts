import * as z from "zod";
import { createRouter, serve } from "../../http/endpoint.ts";
import { described } from "../../http/openapi/fields.ts";
import { newTopUpBody, ruleListQuery, topUpChangeBody, topUpRecord } from "../rules/schemas.ts";
import { topUpRules } from "./top-up-rules.ts";

const UNKNOWN_RULE = "There is no such rule.";
const ADMIN_OPTIONS = { access: "Admin", scope: "admin", tag: "Wallets" } as const;

/** `/wallet/top-up`: rules by which Funding wallets fill up the others of their source. */
export function createTopUpRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      operationId: "listTopUpRules",
      isConditional: true,
      path: "/wallet/top-up",
      ...ADMIN_OPTIONS,
      summary: "Lists the rules by which wallets are topped up, newest first",
      query: ruleListQuery,
      data: z.object({ Rules: described(z.array(topUpRecord), "The rules.") }),
    },
    async (c, { query }) => ({ Rules: await topUpRules.list(c, query) }),
  );

  serve(
    router,
    {
      method: "post",
      operationId: "createTopUpRule",
      path: "/wallet/top-up",
      ...ADMIN_OPTIONS,
      summary: "Has a wallet topped up by the Funding wallet of its payment source",
      description:
        "Balances are checked every five minutes. GET /wallet/transfer-funds lists the top-ups; FUND_DISTRIBUTION events tell of them.",
      body: newTopUpBody,
      idempotent: true,
      data: topUpRecord,
      errors: {
        404: "There is no such wallet.",
        409: "The wallet already has a rule for the unit.",
      },
    },
    (c, { body }) => topUpRules.create(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "patch",
      operationId: "updateTopUpRule",
      path: "/wallet/top-up",
      ...ADMIN_OPTIONS,
      summary: "Changes a rule by which a wallet is topped up",
      description: "Omitted fields are kept.",
      body: topUpChangeBody,
      data: topUpRecord,
      errors: { 404: UNKNOWN_RULE, 409: "The rule was changed meanwhile." },
    },
    (c, { body }) => topUpRules.change(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "delete",
      operationId: "deleteTopUpRule",
      path: "/wallet/top-up",
      ...ADMIN_OPTIONS,
      summary: "Deletes a rule by which a wallet is topped up",
      description: "A pending top-up continues.",
      body: topUpChangeBody.pick({ id: true }),
      data: topUpRecord,
      errors: { 404: UNKNOWN_RULE },
    },
    (c, { body }) => topUpRules.delete(c, body.id, Date.now()),
  );

  return router;
}
