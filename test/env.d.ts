import type { D1Migration } from "cloudflare:test";
import type { Env as WorkerEnv } from "../src/env.ts";

declare global {
  namespace Cloudflare {
    /** The Worker's bindings, and what vitest.config.ts adds to them. */
    interface Env extends WorkerEnv {
      TEST_MIGRATIONS: D1Migration[];
      /** Origin of the local chain's server. */
      DEVNET_URL: string;
    }
    /** What makes `exports.default` of `cloudflare:workers` the Worker's own. */
    interface GlobalProps {
      mainModule: typeof import("../src/worker.ts");
    }
  }
}
