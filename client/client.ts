import createFetchClient, { type Client as FetchClient } from "openapi-fetch";
import type { components, paths } from "./generated/schema.ts";
import { type TransportOptions, transport } from "./transport.ts";

/** The schemas of the service by their names, as `Schemas["Purchase"]`. */
export type Schemas = components["schemas"];

/** Operations by method and path, with types of what they take and answer (openapi-fetch). */
export type Client = FetchClient<paths>;

/** Where the service is, and how requests are sent. */
export interface ClientOptions extends TransportOptions {
  /** Where the service is, as `https://pay.example.com`; what it has after that, as `/api/v1`, may be there. */
  baseUrl: string;
}

/**
 * A client of a service. Its methods answer `{ data, error, response }` and throw only when there is
 * no answer; {@link unwrap} takes the data out or throws.
 *
 * @example
 * const client = createClient({ baseUrl: "https://pay.example.com", token: "…" });
 * const { data, error } = await client.GET("/api/v1/purchase", {
 *   params: { query: { network: "Preprod" } },
 * });
 */
export function createClient({ baseUrl, ...options }: ClientOptions): Client {
  return createFetchClient<paths>({
    baseUrl: baseUrl.replace(/\/+$/, "").replace(/(?:\/api)?\/v1$/, ""),
    fetch: transport(options),
  });
}
