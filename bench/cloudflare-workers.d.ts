/** The module of the Workers runtime, for the types of Durable Objects in programs that run in Node. */
declare module "cloudflare:workers" {
  import type { CloudflareWorkersModule } from "@cloudflare/workers-types";

  /** The bindings of the Worker. */
  export const env: import("../src/env.ts").Env;
  export const DurableObject: typeof CloudflareWorkersModule.DurableObject;
}
