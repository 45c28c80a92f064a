import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lock } from "../../devnet/actors/actions.ts";
import { CASTS } from "../../devnet/actors/wallets.ts";
import { buildWorker } from "../../devnet/build.ts";
import { LIVES } from "../../devnet/scenario.ts";
import { developmentSecrets } from "../../devnet/secrets.ts";
import { type Service, startService } from "../../devnet/service.ts";
import {
  type Address,
  freePort,
  killCopies,
  REGISTERED,
  ready,
  records,
  registrations,
  start,
  states,
  stop,
} from "./copies.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kept-"));
});
afterEach(() => {
  killCopies();
  rmSync(folder, { recursive: true });
});

it("npm start -- --keep shows the same records and the same tip again after it was killed", {
  timeout: 150_000,
}, async () => {
  const flag = `--keep=${join(folder, "state")}`;
  const first = start(await freePort(), flag);
  const before = await ready(first);
  const expected = LIVES.map(({ ends }) => ends).sort();
  await expect
    .poll(() => states(before), { timeout: 60_000, interval: 500 })
    .toEqual({ payment: expected, purchase: expected });
  // From here on the chain stands still, which the next run of the cron, two seconds later, sees.
  await expect
    .poll(() => registrations(before), { timeout: 60_000, interval: 500 })
    .toEqual(REGISTERED);
  // With the confirmations of each transaction, and so with the height of the tip.
  const both = async (address: Address) => [
    await records(address, "payment"),
    await records(address, "purchase"),
  ];
  let shown: unknown;
  const isAtRest = async () => {
    const last = shown;
    shown = await both(before);
    return isDeepStrictEqual(shown, last);
  };
  await expect.poll(isAtRest, { timeout: 60_000, interval: 5_000 }).toBe(true);

  await stop(first, "SIGKILL");
  const again = start(await freePort(), flag);
  const after = await ready(again);
  expect(await both(after)).toEqual(shown);
  expect(await stop(again)).toBe(0);
});

it("a service that was kept goes on where it stopped, on the same chain with the same sources", {
  timeout: 90_000,
}, async () => {
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
    await expect.poll(() => purchases(service), { timeout: 20_000 }).toEqual(identifiers);
    await service.close();
  }

  async function purchases({ url }: Service): Promise<string[]> {
    const found = await records({ url, adminKey: variables.ADMIN_KEY }, "purchase");
    return found.map(({ blockchainIdentifier }) => blockchainIdentifier);
  }
});
