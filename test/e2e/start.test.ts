import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { LIVES } from "../../devnet/scenario.ts";
import { ON_CHAIN_STATES } from "../../src/chain/network.ts";
import {
  freePort,
  isGroupAlive,
  killCopies,
  ready,
  readyLines,
  records,
  run,
  start,
  states,
  stop,
} from "./copies.ts";

afterEach(killCopies);

describe("npm start", () => {
  it("shows the demo in every on-chain state on both sides within 60 s, and stops without a trace", {
    timeout: 150_000,
  }, async () => {
    const copy = start(await freePort());
    const service = await ready(copy);
    const expected = LIVES.map(({ ends }) => ends).sort();
    expect(new Set(expected)).toEqual(new Set(ON_CHAIN_STATES));
    await expect
      .poll(() => states(service), { timeout: 60_000, interval: 500 })
      .toEqual({ payment: expected, purchase: expected });
    for (const side of ["payment", "purchase"] as const) {
      for (const { onChainState, NextAction } of await records(service, side)) {
        const isInvalid = onChainState === "FundsOrDatumInvalid";
        expect(NextAction.requestedAction === "WaitingForManualAction").toBe(isInvalid);
        expect(NextAction.errorType !== null).toBe(isInvalid);
      }
    }
    expect(readyLines(copy)).toHaveLength(1);

    expect(await stop(copy)).toBe(0);
    expect(isGroupAlive(copy)).toBe(false);
    await expect(fetch(service.url)).rejects.toThrow();
  });

  it("prints a command whose answer is a page of the diff", { timeout: 90_000 }, async () => {
    const copy = start(await freePort(), "--no-demo");
    await ready(copy);
    const [, token = "", url = ""] = /^curl -s -H 'token: (\S+)' '(\S+)'$/m.exec(copy.stdout) ?? [];
    const response = await fetch(url, { headers: { token } });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: { Purchases: [] } });
    expect(await stop(copy, "SIGTERM")).toBe(0);
  });

  it("runs twice at once, and again on a port that was freed", { timeout: 150_000 }, async () => {
    const [portA, portB] = [await freePort(), await freePort()];
    const both = [start(portA, "--no-demo"), start(portB, "--no-demo")] as const;
    const services = await Promise.all(both.map(ready));
    for (const service of services) expect(await records(service, "payment")).toEqual([]);
    expect(await Promise.all(both.map((copy) => stop(copy)))).toEqual([0, 0]);

    const again = start(portA, "--no-demo");
    expect((await ready(again)).url).toBe(`http://127.0.0.1:${portA}`);
    expect(await stop(again)).toBe(0);
  });

  it("stops when npm's shell is gone, which passes no signal on", { timeout: 90_000 }, async () => {
    const command = `"${process.execPath}" devnet/start.ts --no-demo; exit`;
    const env = { PORT: String(await freePort()), npm_lifecycle_event: "start" };
    const copy = run("sh", ["-c", command], env);
    const { url } = await ready(copy);
    // The shell's output is shared by what it started, so it is closed when that has ended too.
    const closed = once(copy.process, "close");
    copy.process.kill("SIGTERM");
    await closed;
    await expect(fetch(url)).rejects.toThrow();
  });

  it("says in one line that its port is in use", async () => {
    const port = await freePort();
    const occupant = createServer().listen(port, "127.0.0.1");
    await once(occupant, "listening");
    const copy = start(port);
    expect((await once(copy.process, "close"))[0]).toBe(1);
    expect(copy.stderr).toMatch(new RegExp(`^port ${port} is in use; .*\\n$`));
    expect(copy.stdout).toBe("");
    occupant.close();
  });
});
