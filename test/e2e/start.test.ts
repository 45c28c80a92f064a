import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { freePort, killCopies, ready, records, run, start, stop } from "./copies.ts";

afterEach(killCopies);

describe("npm start", () => {
  it("runs twice at once, and again on a port that was freed", { timeout: 150_000 }, async () => {
    const [portA, portB] = [await freePort(), await freePort()];
    const both = [start(portA, "--no-demo"), start(portB, "--no-demo")] as const;
    const services = await Promise.all(both.map(ready));
    for (const service of services) expect(await records(service, "payment")).toEqual([]);
    expect(await Promise.all(both.map((copy) => stop(copy)))).toEqual([0, 0]);

    const again = start(portA, "--no-demo");
    expect((await ready(again)).url).toBe(`http://127.0.0.1:${portA}`);
    expect(await stop(again, "SIGTERM")).toBe(0);
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
