import { env, exports } from "cloudflare:workers";
import { createClient } from "../../client/index.ts";
import { createApp } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";

/**
 * A client of the Worker with the administrator's key, and its sent requests.
 *
 * @param bindings - of another service than the tests'
 */
export function service(bindings?: Env) {
  const sent: Request[] = [];
  const app = bindings && createApp();
  const client = createClient({
    baseUrl: "http://service.test",
    token: env.ADMIN_KEY ?? "",
    fetch: async (request) => {
      sent.push(request);
      return app ? app.fetch(request, bindings) : exports.default.fetch(request);
    },
  });
  return { client, sent };
}
