import * as z from "zod";
import { openDb } from "../db/client.ts";
import { listPermittedNetworks } from "../http/authenticate.ts";
import { type Router, serve } from "../http/endpoint.ts";
import { network } from "../http/openapi/chain-fields.ts";
import { described } from "../http/openapi/fields.ts";
import { pageParameters } from "../http/openapi/parameters.ts";
import { listCapabilities } from "../registry/entries/capability.ts";
import { CAPABILITIES_ENDPOINT } from "../registry/routes.ts";

/** The registry's operations whose `network` is optional elsewhere. */
export function registerRegistryRoutes(router: Router): void {
  serve(
    router,
    {
      ...CAPABILITIES_ENDPOINT,
      takesBookmark: false,
      query: z.object({
        ...pageParameters,
        network: described(network.optional(), "Only agents of this network.", "Preprod"),
      }),
    },
    async (c, { query }) => {
      const networks = query.network ? [query.network] : listPermittedNetworks(c.var.caller);
      const pages = await Promise.all(
        networks.map((one) => {
          const db = openDb(c.env, one, { deadline: c.var.deadline, reads: "replica" });
          return listCapabilities(db, { ...query, network: one });
        }),
      );
      // The same capability has the same id on both networks.
      const byId = new Map(pages.flat().map((capability) => [capability.id, capability]));
      const capabilities = [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
      return { capabilities: capabilities.slice(0, query.limit) };
    },
  );
}
