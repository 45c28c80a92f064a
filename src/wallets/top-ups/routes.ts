import * as z from "zod";
import { db } from "../../db/client.ts";
import { createRouter, serve } from "../../http/endpoint.ts";
import { described } from "../../http/openapi/fields.ts";
import { changeTopUpRule, createTopUpRule, deleteTopUpRule, listTopUpRules } from "./rules.ts";
import {
  newTopUpBody,
  topUpChangeBody,
  topUpDeletion,
  topUpListQuery,
  topUpRecord,
} from "./schemas.ts";

const PATH = "/wallet/top-up";
const TAG = "Wallets";
const UNKNOWN_RULE = "There is no such rule.";

/** `/wallet/top-up`: rules by which Funding wallets fill up the others of their source. */
export function topUpRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      operationId: "listTopUpRules",
      isConditional: true,
      path: PATH,
      access: "Admin",
      scope: "admin",
      tag: TAG,
      summary: "Lists the rules by which wallets are topped up, newest first",
      query: topUpListQuery,
      data: z.object({ Rules: described(z.array(topUpRecord), "The rules.") }),
    },
    async (c, { query }) => ({
      Rules: await listTopUpRules(db(c.env, undefined, { deadline: c.var.deadline }), query),
    }),
  );

  serve(
    router,
    {
      method: "post",
      operationId: "createTopUpRule",
      path: PATH,
      access: "Admin",
      scope: "admin",
      tag: TAG,
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
    (c, { body }) => createTopUpRule(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "patch",
      operationId: "updateTopUpRule",
      path: PATH,
      access: "Admin",
      scope: "admin",
      tag: TAG,
      summary: "Changes a rule by which a wallet is topped up",
      description: "Omitted fields are kept.",
      body: topUpChangeBody,
      data: topUpRecord,
      errors: { 404: UNKNOWN_RULE, 409: "The rule was changed meanwhile." },
    },
    (c, { body }) => changeTopUpRule(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "delete",
      operationId: "deleteTopUpRule",
      path: PATH,
      access: "Admin",
      scope: "admin",
      tag: TAG,
      summary: "Deletes a rule by which a wallet is topped up",
      description: "A pending top-up continues.",
      body: topUpDeletion,
      data: topUpRecord,
      errors: { 404: UNKNOWN_RULE },
    },
    (c, { body }) => deleteTopUpRule(c, body.id, Date.now()),
  );

  return router;
}
