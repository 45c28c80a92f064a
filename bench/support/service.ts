/** The built service with fresh state, which is deleted when it stops unless a folder keeps it. */
import { join } from "node:path";
import { askPlainly } from "../../devnet/client/api.ts";
import { type Host, startHost } from "../../devnet/host.ts";
import { developmentSecrets } from "../../devnet/secrets.ts";
import type { PlatformLimits } from "../platform/invocation.ts";
import type { Limits } from "./limits.ts";
import { cpuMs, workerdPid } from "./process-cpu.ts";

/** What a part of the bench gets from `run.ts`. */
export interface BenchContext {
  /** Path of the built Worker, one ES module. */
  bundle: string;
  /** A folder for temporary files. */
  folder: string;
  /** Smaller and shorter, to see that it works. */
  quick: boolean;
  limits: Limits;
  /** What the command asks of the simulated platform. */
  platform: PlatformLimits;
}

export interface BenchService {
  host: Host;
  /** An Admin key. */
  token: string;
  /** CPU milliseconds of workerd so far. */
  cpuMs(): number;
}

/**
 * Starts the service without a practical limit of calls per minute.
 *
 * @param persistTo - the folder of its state
 * @param archives - how many are bound, if more than `wrangler.toml` has
 */
export async function startBenchService(
  { bundle, folder }: Pick<BenchContext, "bundle" | "folder">,
  bindings: Record<string, string> = {},
  persistTo?: string,
  archives = 0,
): Promise<BenchService> {
  const secrets = developmentSecrets(join(folder, ".dev.vars"));
  const host = await startHost({
    bindings: { ...secrets, ...bindings },
    rateLimits: false,
    isDirect: true,
    bundle,
    archives,
    ...(persistTo !== undefined && { persistTo }),
  });
  const pid = workerdPid();
  return { host, token: secrets.ADMIN_KEY, cpuMs: () => cpuMs(pid) };
}

/**
 * Asks the service and returns `data` of the answer.
 *
 * @throws when the answer is not 2xx
 */
export function call<Data>(
  { host, token }: BenchService,
  path: string,
  init: { method: "POST"; body: object } | { method: "GET" } = { method: "GET" },
): Promise<Data> {
  const below = path.replace(/^\/api\/v1/, "");
  return askPlainly(
    { url: host.url, token },
    init.method,
    below,
    "body" in init ? init.body : undefined,
  );
}
