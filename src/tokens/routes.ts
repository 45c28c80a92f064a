import * as z from "zod";
import { openDb } from "../db/client.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import { deleteTokenBody, saveTokenBody, tokenResponse } from "./schemas.ts";
import { deleteToken, listTokens, saveToken } from "./tokens.ts";

/** `/units`: how amounts, which are whole minor units everywhere, are shown to people. */
export function createTokenRoutes() {
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
      data: z.object({ Units: described(z.array(tokenResponse), "The units.") }),
    },
    async (c) => ({
      Units: await listTokens(openDb(c.env, undefined, { deadline: c.var.deadline })),
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
      body: saveTokenBody,
      idempotent: true,
      data: tokenResponse,
    },
    (c, { body }) => saveToken(c, body, Date.now()),
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
      body: deleteTokenBody,
      data: tokenResponse,
      errors: { 404: "The token has no entry." },
    },
    (c, { body }) => deleteToken(c, body.unit, Date.now()),
  );

  return router;
}
