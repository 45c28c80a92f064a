import type { Network } from "../chain/network.ts";
import { hasMainnetSource } from "../db/mainnet-sources.ts";
import { listPermittedNetworks, requireNetwork } from "../http/authenticate.ts";
import type { AppContext } from "../http/context.ts";
import { type Router, serve } from "../http/endpoint.ts";
import { network as requestedNetwork } from "../http/openapi/chain-fields.ts";
import { described } from "../http/openapi/fields.ts";
import { booleanParameter } from "../http/openapi/parameters.ts";
import { issueMonthlyInvoice } from "../invoices/issue/issue-monthly.ts";
import { INVOICE_ENDPOINTS, listMissingInvoices, listMonthlyInvoices } from "../invoices/routes.ts";

const network = described(
  requestedNetwork.optional(),
  "Omitted: Mainnet if the key may use it and there is a source, else Preprod.",
);
const { issueInternal, list, listMissing } = INVOICE_ENDPOINTS;

/** Invoices, whose clients elsewhere do not name the network. */
export function registerInvoiceRoutes(router: Router): void {
  const body = issueInternal.body.extend({ network });
  serve(router, { ...issueInternal, body }, async (c, { body }) =>
    issueMonthlyInvoice(c, await chooseNetwork(c, body.network), body, Date.now()),
  );
  const includePdf = described(booleanParameter(true), "Whether to include the PDFs.");
  const listQuery = list.query.extend({ network, includePdf });
  serve(router, { ...list, query: listQuery }, async (c, { query }) =>
    listMonthlyInvoices(c, { ...query, network: await chooseNetwork(c, query.network) }),
  );
  const query = listMissing.query.extend({ network });
  serve(router, { ...listMissing, query }, async (c, { query }) =>
    listMissingInvoices(c, { ...query, network: await chooseNetwork(c, query.network) }),
  );
}

/** @throws ApiError 403 when the key may use no network of the ledger */
async function chooseNetwork(c: AppContext, named: Network | undefined): Promise<Network> {
  const [first = "Preprod", other] = listPermittedNetworks(c.var.caller);
  const isOnMainnet = other && (await hasMainnetSource(c.env, c.var.deadline));
  const network = named ?? (isOnMainnet ? "Mainnet" : first);
  requireNetwork(c.var.caller, network);
  return network;
}
