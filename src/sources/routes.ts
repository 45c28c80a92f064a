import { z } from "@hono/zod-openapi";
import { NETWORKS, type Network } from "../chain/network.ts";
import { permitNetwork } from "../http/authenticate.ts";
import type { AppContext, Caller } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { page } from "../http/parameters.ts";
import { log } from "../log.ts";
import { createSource } from "./create.ts";
import { wakeCursor } from "./cursor.ts";
import { listPublicSources, listSources } from "./record.ts";
import { removeSource } from "./remove.ts";
import {
  createBody,
  deleteBody,
  paymentSourceRecord,
  publicSourceRecord,
  updateBody,
} from "./schemas.ts";
import { updateSource } from "./update.ts";

const ERRORS = {
  409: "The contract or a wallet is in use already, or the network does not fit the environment.",
  502: "The chain provider failed.",
  504: "The chain provider did not answer in time.",
};

/** `/payment-source-extended` of the interface. */
export function paymentSourceRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      path: "/payment-source-extended",
      access: "Admin",
      tag: "Payment sources",
      summary: "Lists payment sources, newest first",
      query: z.object({ ...page, network: z.enum(NETWORKS).optional() }),
      data: z.object({ ExtendedPaymentSources: z.array(paymentSourceRecord) }),
    },
    async (c, { query: { network, ...page } }) => ({
      ExtendedPaymentSources: await listSources(
        c.env,
        { ...page, networks: network && [network] },
        c.var.deadline,
      ),
    }),
  );

  serve(
    router,
    {
      method: "post",
      path: "/payment-source-extended",
      access: "Admin",
      tag: "Payment sources",
      summary: "Creates a payment source",
      description:
        "Its contract is followed from its first transaction, or after the one given. A contract that is not named by address and policy is derived from its parameters, with a script that the provider shows.",
      body: createBody,
      idempotent: true,
      data: paymentSourceRecord,
      errors: {
        ...ERRORS,
        422: "The Idempotency-Key was used for another request.",
        502: "The chain provider failed, or does not have the script that a contract is derived from.",
      },
    },
    async (c, { body }) => {
      const record = await createSource(c, body, Date.now());
      await wake(c, record.id);
      return record;
    },
  );

  serve(
    router,
    {
      method: "patch",
      path: "/payment-source-extended",
      access: "Admin",
      tag: "Payment sources",
      summary: "Updates a payment source",
      description: "What is left out is kept. A wallet that is added gets its past.",
      body: updateBody,
      data: paymentSourceRecord,
      errors: {
        ...ERRORS,
        404: "There is no such payment source, or it has no such wallet.",
        409: `${ERRORS[409]} Or a wallet to remove has an open transaction.`,
      },
    },
    async (c, { body }) => {
      const record = await updateSource(c, body, Date.now());
      await wake(c, record.id);
      return record;
    },
  );

  serve(
    router,
    {
      method: "delete",
      path: "/payment-source-extended",
      access: "Admin",
      tag: "Payment sources",
      summary: "Removes a payment source",
      description:
        "Its contract is followed no more. Its provider key and its wallets' mnemonics are destroyed; its payments and purchases stay readable.",
      body: deleteBody,
      data: paymentSourceRecord,
      errors: {
        404: "There is no such payment source.",
        409: "A wallet of it has an open transaction.",
      },
    },
    (c, { body }) => removeSource(c, body.id, Date.now()),
  );

  serve(
    router,
    {
      method: "get",
      path: "/payment-source",
      access: "User",
      tag: "Payment sources",
      summary: "Lists the payment sources of the key's networks, newest first",
      query: z.object({ ...page, network: z.enum(NETWORKS).optional() }),
      data: z.object({ PaymentSources: z.array(publicSourceRecord) }),
    },
    async (c, { query: { network, ...page } }) => {
      if (network) permitNetwork(c.var.caller, network);
      const networks = network ? [network] : networksOf(c.var.caller);
      return {
        PaymentSources: await listPublicSources(c.env, { ...page, networks }, c.var.deadline),
      };
    },
  );

  return router;
}

function networksOf({ networkLimit }: Caller): Network[] {
  return NETWORKS.filter((network) => networkLimit === null || networkLimit.includes(network));
}

/** The change is made: when its object cannot be woken, the cron does it within a minute. */
async function wake(c: AppContext, sourceId: string): Promise<void> {
  const { requestId } = c.var;
  try {
    await wakeCursor(c.env, sourceId, requestId);
  } catch (error) {
    log("warn", "cursor not woken", { requestId, sourceId, error: String(error) });
  }
}
