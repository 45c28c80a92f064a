import { env, exports } from "cloudflare:workers";
import { createClient } from "../../client/index.ts";
import type { Env } from "../../src/env.ts";
import { app } from "./app.ts";

/**
 * A client of the Worker with the administrator's key, and its sent requests.
 *
 * @param bindings - of another service than the tests'
 */
export function service(bindings?: Env) {
  const sent: Request[] = [];
  const client = createClient({
    baseUrl: "http://service.test",
    token: env.ADMIN_KEY ?? "",
    fetch: async (request) => {
      sent.push(request);
      return bindings ? app.fetch(request, bindings) : exports.default.fetch(request);
    },
  });
  return { client, sent };
}
