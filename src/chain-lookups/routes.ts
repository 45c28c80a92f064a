import * as z from "zod";
import type { Provider } from "../chain/provider/provider.ts";
import { normalizeUnit } from "../chain/unit.ts";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { exactNumber } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { SAYS_OTHER_NAMES } from "../http/names/table.ts";
import { described } from "../http/openapi/fields.ts";
import { addressOn } from "../sources/checks.ts";
import { readProvider } from "../sources/read-provider.ts";
import { balanceQuery, shownQuantity, shownUtxo, utxoQuery } from "./schemas.ts";

const TAG = "Ledger";
const PROVIDER_ERRORS = {
  502: "The chain provider failed.",
  503: "The chain provider accepts no calls; see Retry-After.",
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
        Balance: described(z.array(shownQuantity), "Balance of the address. Empty: never used."),
      }),
      errors: { ...PROVIDER_ERRORS, 404: "No payment source is on the network." },
    },
    async (c, { query }) => ({ Balance: await balanceOf(c, query) }),
  );

  return router;
}

type Quantity = z.input<typeof shownQuantity>;

/**
 * One page of what lies unspent at any address.
 *
 * @throws ApiError 400, 403, 404; ProviderError
 */
async function unspentAt(
  c: AppContext,
  query: z.output<typeof utxoQuery>,
): Promise<z.input<typeof shownUtxo>[]> {
  const { provider, address } = await askedAddress(c, query);
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
    Amounts: amount.map(shownAmount),
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
async function balanceOf(c: AppContext, query: z.output<typeof balanceQuery>): Promise<Quantity[]> {
  const { provider, address } = await askedAddress(c, query);
  return ((await provider.addressFunds(address)) ?? []).map(shownAmount);
}

async function askedAddress(
  c: AppContext,
  { network, address: text }: z.output<typeof balanceQuery>,
): Promise<{ provider: Provider; address: string }> {
  const address = addressOn(network, "address", text);
  const provider = await readProvider(c, { network });
  if (provider === null) throw new ApiError(404, `network: no payment source is on ${network}`);
  return { provider, address };
}

function shownAmount({ unit, quantity }: { unit: string; quantity: string }): Quantity {
  // Clients of other services look for the provider's name of the native coin here, as there alone.
  return {
    unit: SAYS_OTHER_NAMES ? unit : normalizeUnit(unit),
    quantity: exactNumber(BigInt(quantity)),
  };
}
