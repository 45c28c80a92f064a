import * as z from "zod";
import { createRouter, serve } from "../http/endpoint.ts";
import { described } from "../http/openapi/fields.ts";
import { balanceOf, unspentAt } from "./read-address.ts";
import { balanceQuery, shownQuantity, shownUtxo, utxoQuery } from "./schemas.ts";

const TAG = "Ledger";
const PROVIDER_ERRORS = {
  502: "The chain provider failed.",
  503: "The chain provider takes no calls at the moment; Retry-After says when to come back.",
  504: "The chain provider did not answer in time.",
};

/** What lies on the chain at any address, so that clients need no provider of their own. */
export function ledgerRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      operationId: "listUnspentOutputs",
      path: "/utxos",
      access: "User",
      scope: "network",
      names: { address: "ledgerData" },
      tag: TAG,
      summary: "Lists the unspent outputs of an address",
      query: utxoQuery,
      data: z.object({ Utxos: described(z.array(shownUtxo), "The outputs.") }),
      errors: {
        ...PROVIDER_ERRORS,
        404: "The address was never used, or no payment source is on the network.",
      },
    },
    async (c, { query }) => ({ Utxos: await unspentAt(c, query) }),
  );

  serve(
    router,
    {
      method: "get",
      operationId: "getBalance",
      path: "/balance",
      access: "User",
      scope: "network",
      names: { address: "ledgerData" },
      tag: TAG,
      summary: "Shows what an address holds",
      query: balanceQuery,
      data: z.object({
        Balance: described(
          z.array(shownQuantity),
          "What it holds; nothing when it was never used.",
        ),
      }),
      errors: { ...PROVIDER_ERRORS, 404: "No payment source is on the network." },
    },
    async (c, { query }) => ({ Balance: await balanceOf(c, query) }),
  );

  return router;
}
