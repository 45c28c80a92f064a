import * as z from "zod";
import { db } from "../db/client.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import { forgetBody, shownUnit, unitBody } from "./schemas.ts";
import { forgetUnit, knownUnits, saveUnit } from "./tokens.ts";

/** `/units`: how amounts, which are whole minor units everywhere, are shown to people. */
export function unitRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      operationId: "listUnits",
      isConditional: true,
      path: "/units",
      access: "User",
      scope: "public",
      tag: "Ledger",
      summary: "Lists the names and decimals of units",
      description: "The native coin comes first, then the tokens that an Admin named.",
      data: z.object({ Units: described(z.array(shownUnit), "The units.") }),
    },
    async (c) => ({
      Units: await knownUnits(db(c.env, undefined, { deadline: c.var.deadline })),
    }),
  );

  serve(
    router,
    {
      method: "post",
      operationId: "saveUnit",
      path: "/units",
      access: "Admin",
      scope: "admin",
      tag: "Ledger",
      summary: "Sets the name and decimals of a token",
      body: unitBody,
      idempotent: true,
      data: shownUnit,
    },
    (c, { body }) => saveUnit(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "delete",
      operationId: "deleteUnit",
      path: "/units",
      access: "Admin",
      scope: "admin",
      tag: "Ledger",
      summary: "Deletes the name and decimals of a token",
      body: forgetBody,
      data: shownUnit,
      errors: { 404: "The token has no entry." },
    },
    (c, { body }) => forgetUnit(c, body.unit, Date.now()),
  );

  return router;
}
