import { beforeAll, describe, expect, it } from "vitest";
import { openDeployment } from "./deployment/open-deployment.ts";
import { EXCEPTIONS } from "./exceptions.ts";
import { PROBES } from "./probes/all.ts";
import { OPERATIONS, scopeOf } from "./scopes.ts";
import { STRANGERS } from "./strangers.ts";
import { type Ask, findFailures, findLeaks, startWalk, type Walked } from "./walk.ts";

let walked: Walked;

beforeAll(async () => {
  const deployment = await openDeployment();
  const ask: Ask = (...request) => deployment.service.ask(...request);
  walked = await startWalk({ deployment, ask, scopeOf, refusal: 403 });
});

describe("the probes", () => {
  it("cover every operation of the OpenAPI document, and no other", () => {
    expect(Object.keys(PROBES).sort()).toEqual([...OPERATIONS].sort());
  });
});

describe.each(OPERATIONS)("%s", (operation) => {
  const probes = PROBES[operation] ?? [];

  // The strangers come first: what the owner's request makes of a resource is not what they ask for.
  it.each(STRANGERS)(
    "shows, reveals and changes nothing of the owner's for %s",
    async (stranger) => {
      const leaks: string[] = [];
      for (const probe of probes)
        leaks.push(...(await findLeaks(walked, operation, probe, stranger)));
      expect(leaks).toEqual([]);
    },
  );

  const served = scopeOf(operation) === "admin" ? ["an Admin"] : ["the owner", "an Admin"];

  it.each(served)("serves %s", async (key) => {
    const failures = probes.length > 0 ? [] : ["has no probe"];
    const token = key === "the owner" ? walked.deployment.tokens.owner : undefined;
    for (const probe of probes)
      failures.push(...(await findFailures(walked, operation, probe, token)));
    expect(failures).toEqual([]);
  });
});

describe("the exceptions", () => {
  it("are needed, each of them, by the operations before", () => {
    expect(EXCEPTIONS.filter((one) => !walked.needed.has(one))).toEqual([]);
  });
});
