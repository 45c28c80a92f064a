import * as z from "zod";
import type { Provider } from "../chain/provider/provider.ts";
import { normalizeUnit } from "../chain/unit.ts";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { toExactNumber } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { USES_EXTERNAL_NAMES } from "../http/names/wire-names.ts";
import { described, PROVIDER_ERRORS } from "../http/openapi/fields.ts";
import { findReadProvider } from "../sources/find-read-provider.ts";
import { requireAddress } from "../sources/validate-request.ts";
import { balanceQuery, quantityResponse, utxoQuery, utxoResponse } from "./schemas.ts";

const TAG = "Ledger";

/** What lies on the chain at any address, so that clients need no provider of their own. */
export function createChainLookupRoutes() {
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
      data: z.object({ Utxos: described(z.array(utxoResponse), "The outputs.") }),
      errors: {
        ...PROVIDER_ERRORS,
        404: "The address was never used, or no payment source is on the network.",
      },
    },
    async (c, { query }) => ({ Utxos: await listUnspentOutputs(c, query) }),
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
        Balance: described(z.array(quantityResponse), "Balance of the address. Empty: never used."),
      }),
      errors: { ...PROVIDER_ERRORS, 404: "No payment source is on the network." },
    },
    async (c, { query }) => ({ Balance: await loadBalance(c, query) }),
  );

  return router;
}

type Quantity = z.input<typeof quantityResponse>;

/**
 * One page of what lies unspent at any address.
 *
 * @throws ApiError 400, 403, 404; ProviderError
 */
async function listUnspentOutputs(
  c: AppContext,
  query: z.output<typeof utxoQuery>,
): Promise<z.input<typeof utxoResponse>[]> {
  const { provider, address } = await resolveAddress(c, query);
  const outputs = await provider.addressOutputs(address, {
    page: query.page,
    count: query.count,
    order: query.order === "Asc" ? "asc" : "desc",
  });
  if (outputs === null) throw new ApiError(404, "address: was never used on this network");
  return outputs.map(({ amount, ...output }) => ({
    txHash: output.txHash,
    outputIndex: output.outputIndex,
    address: output.address,
    Amounts: amount.map(toQuantity),
    dataHash: output.dataHash,
    inlineDatum: output.inlineDatum,
    referenceScriptHash: output.referenceScriptHash,
    block: output.block,
  }));
}

/**
 * What any address holds; nothing when it was never used.
 *
 * @throws ApiError 400, 403, 404; ProviderError
 */
async function loadBalance(
  c: AppContext,
  query: z.output<typeof balanceQuery>,
): Promise<Quantity[]> {
  const { provider, address } = await resolveAddress(c, query);
  return ((await provider.addressFunds(address)) ?? []).map(toQuantity);
}

async function resolveAddress(
  c: AppContext,
  { network, address: text }: z.output<typeof balanceQuery>,
): Promise<{ provider: Provider; address: string }> {
  const address = requireAddress(network, "address", text);
  const provider = await findReadProvider(c, { network });
  if (provider === null) throw new ApiError(404, `network: no payment source is on ${network}`);
  return { provider, address };
}

function toQuantity({ unit, quantity }: { unit: string; quantity: string }): Quantity {
  // Clients of other services look for the provider's name of the native coin here, as there alone.
  return {
    unit: USES_EXTERNAL_NAMES ? unit : normalizeUnit(unit),
    quantity: toExactNumber(BigInt(quantity)),
  };
}
