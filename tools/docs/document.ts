import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleWorker } from "../../devnet/build.ts";
import { startHost } from "../../devnet/host.ts";

/** The OpenAPI document of a service that runs the code as it is now. */
export async function readDocument() {
  const folder = mkdtempSync(join(tmpdir(), "document-"));
  const { path } = await bundleWorker(folder);
  const host = await startHost({ bindings: {}, bundle: path, log: () => {} });
  try {
    return await (await fetch(`${host.url}/api/v1/openapi.json`)).json();
  } finally {
    await host.close();
    rmSync(folder, { recursive: true });
  }
}
