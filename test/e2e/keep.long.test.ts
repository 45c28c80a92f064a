import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildWorker } from "../../devnet/build.ts";
import { lock } from "../../devnet/demo/actors/actions.ts";
import { CASTS } from "../../devnet/demo/actors/wallets.ts";
import { developmentSecrets } from "../../devnet/secrets.ts";
import { type Service, startService } from "../../devnet/service.ts";
import { records } from "./copies.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kept-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

it("a service that was kept goes on where it stopped, on the same chain with the same sources", async () => {
  const { path: bundle } = await buildWorker(join(folder, "bundle"));
  const variables = developmentSecrets(join(folder, ".dev.vars"));
  const keep = join(folder, "state");
  const [seller] = CASTS.Web3ChainV2.sellers;
  const [buyer] = CASTS.Web3ChainV2.buyers;
  if (!seller || !buyer) throw new Error("the demo has nobody to trade");
  const identifiers: string[] = [];

  for (const height of [1, 2]) {
    const service = await startService({ variables, bundle, keep });
    const escrow = lock(service.chain, { version: "Web3ChainV2", seller, buyer });
    identifiers.push(escrow.identifier);
    expect(service.chain.tip().height).toBe(height);
    await expect.poll(() => purchases(service)).toEqual(identifiers);
    await service.close();
  }

  async function purchases({ url }: Service): Promise<string[]> {
    const found = await records({ url, adminKey: variables.ADMIN_KEY }, "purchase");
    return found.map(({ blockchainIdentifier }) => blockchainIdentifier);
  }
});
