import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { listLoopbackOrigins } from "../../src/http/outbound/loopback-origins.ts";
import { resolveChainClock } from "../../src/sources/chain-clock.ts";
import {
  LOCAL_SCRIPT_HASHES,
  refuseMixingWithDevelopment,
} from "../../src/sources/contracts/local-contracts.ts";
import { emptyTables } from "../support/app.ts";
import { insertSource } from "../support/sources/sources.ts";

beforeEach(emptyTables);

describe("development and real money", () => {
  it.each(LOCAL_SCRIPT_HASHES)("never meet at the local contract %s", (scriptHash) => {
    for (const network of ["Preprod", "Mainnet"] as const)
      expect(() => refuseMixingWithDevelopment({}, { network, scriptHash })).toThrow(
        expect.objectContaining({ status: 400 }),
      );
  });

  it("never meet on Mainnet while loopback origins are open", () => {
    const development = { LOOPBACK_ORIGINS: "http://127.0.0.1:9000" };
    const source = { network: "Mainnet", scriptHash: "ab".repeat(28) } as const;
    expect(() => refuseMixingWithDevelopment(development, source)).toThrow(
      expect.objectContaining({ status: 409 }),
    );
    expect(() => refuseMixingWithDevelopment({}, source)).not.toThrow();
  });

  it("close the loopback origins as soon as a source is on Mainnet", async () => {
    const origins = { DB: env.DB, LOOPBACK_ORIGINS: "http://127.0.0.1:9000, http://[::1]:1" };
    const deadline = Date.now() + 5_000;
    await insertSource("a", "Preprod");
    expect(await listLoopbackOrigins(origins, deadline)).toEqual([
      "http://127.0.0.1:9000",
      "http://[::1]:1",
    ]);
    await insertSource("b", "Mainnet");
    expect(await listLoopbackOrigins(origins, deadline)).toEqual([]);
  });

  it("take the wall clock for the chain's as soon as a source is on Mainnet", async () => {
    const clocks = { DB: env.DB, CHAIN_CLOCK: "tip" };
    const deadline = Date.now() + 5_000;
    expect(await resolveChainClock({ DB: env.DB }, deadline)).toBe("wall");
    await insertSource("a", "Preprod");
    expect(await resolveChainClock(clocks, deadline)).toBe("tip");
    await insertSource("b", "Mainnet");
    expect(await resolveChainClock(clocks, deadline)).toBe("wall");
  });
});
