/** The module of the Workers runtime, for the types of Durable Objects in programs that run in Node. */
declare module "cloudflare:workers" {
  import type { CloudflareWorkersModule } from "@cloudflare/workers-types";

  export const DurableObject: typeof CloudflareWorkersModule.DurableObject;
}
