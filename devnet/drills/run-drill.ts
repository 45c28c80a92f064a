import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildWorker } from "../build.ts";
import type { ApiAccess } from "../client/api.ts";
import { developmentSecrets } from "../secrets.ts";
import { type Service, type ServiceOptions, startService } from "../service.ts";

/**
 * Runs a drill with a separate service on the local chain.
 *
 * @param drill - Its `folder` is deleted in the end.
 * @throws as the drill does
 */
export async function runDrill(
  options: Omit<ServiceOptions, "variables" | "bundle">,
  drill: (service: Service, admin: ApiAccess, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "drill-"));
  try {
    const { path: bundle } = await buildWorker(folder);
    const variables = developmentSecrets(join(folder, ".dev.vars"));
    const service = await startService({ ...options, variables, bundle });
    try {
      await drill(service, { url: service.url, token: variables.ADMIN_KEY }, folder);
    } finally {
      await service.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
