import * as z from "zod";
import { openDb } from "../../db/client.ts";
import { createRouter, serve } from "../../http/endpoint.ts";
import { described } from "../../http/openapi/fields.ts";
import { listTransfers } from "./list-transfers.ts";
import { requestTransfer } from "./request-transfer.ts";
import { distribution, transferBody, transferQuery, transferRecord } from "./schemas.ts";
import { toTransferResponse } from "./to-transfer-response.ts";

const ADMIN_OPTIONS = { access: "Admin", scope: "admin", tag: "Wallets" } as const;

/** `/wallet/transfer-funds`: payments out of managed wallets to any address. */
export function createTransferRoutes() {
  const router = createRouter();
  const became = {
    SENT: "was sent",
    CONFIRMED: "was confirmed",
    FAILED: "has failed, or could not be built",
  };
  for (const [kind, what] of Object.entries(became))
    router.events.push({
      kind: `FUND_DISTRIBUTION_${kind}`,
      summary: `A transaction that tops up wallets ${what}`,
      data: distribution,
    });

  serve(
    router,
    {
      ...ADMIN_OPTIONS,
      method: "post",
      operationId: "transferFunds",
      path: "/wallet/transfer-funds",
      summary: "Transfers funds from a managed wallet to an address",
      description: "The wallet sends the transaction later. `GET` shows the progress.",
      body: transferBody,
      idempotent: true,
      data: transferRecord,
      errors: { 404: "No payment source has such a wallet." },
    },
    (c, { body }) => requestTransfer(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...ADMIN_OPTIONS,
      method: "get",
      operationId: "listTransfers",
      isConditional: true,
      path: "/wallet/transfer-funds",
      summary: "Lists the transfers from managed wallets, newest first",
      query: transferQuery,
      data: z.object({ transfers: described(z.array(transferRecord), "The transfers.") }),
    },
    async (c, { query: { hotWalletId: walletId, ...filters } }) => {
      const database = openDb(c.env, filters.network, { deadline: c.var.deadline });
      const rows = await listTransfers(database, { ...filters, walletId });
      return { transfers: rows.map(toTransferResponse) };
    },
  );

  return router;
}
