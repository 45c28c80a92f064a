/** What the seller in Python prints when it cannot sell; where there is no Python, a line says so. */
import { afterAll, describe, expect, test, vi } from "vitest";
import { freePort, killCopies } from "../copies.ts";
import { Blocks, blocksOf, has } from "./blocks.ts";

const [seller] = blocksOf("escrow-for-sellers.md", "py");
const SERVICE_URL = `http://127.0.0.1:${await freePort()}`;
const NOTHING_SET = { AGENT_IDENTIFIER: "", SERVICE_TOKEN: "key", LISTEN_PORT: "" };
const blocks = new Blocks({ ...NOTHING_SET, SERVICE_URL });
afterAll(() => {
  killCopies();
  blocks.remove();
});

describe.runIf(has("py"))("the seller in Python", () => {
  test.each([
    ["AGENT_IDENTIFIER", { LISTEN_PORT: "9004" }],
    ["LISTEN_PORT", { AGENT_IDENTIFIER: "agent" }],
  ])("names %s in one line when it is not set", async (name, env) => {
    const program = blocks.start(seller, { env });
    expect(await program.closed).toBe(1);
    expect(program.stderr).toMatch(new RegExp(`^${name} is not set: .+\n$`));
  });

  test("names the address in one line at which no service answers", async () => {
    const env = { AGENT_IDENTIFIER: "agent", LISTEN_PORT: String(await freePort()) };
    const program = blocks.start(seller, { env });
    await vi.waitUntil(() => program.stderr.endsWith("\n"), { timeout: 60_000 });
    const [address, reason] = program.stderr.split(": ");
    expect([address, reason]).toEqual([`No service answers at ${SERVICE_URL}`, expect.any(String)]);
    expect(program.stderr.match(/\n/g)).toHaveLength(1);
  });
});
