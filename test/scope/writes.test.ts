import { beforeAll, describe, expect, it } from "vitest";
import { openApi } from "../support/endpoints/document.ts";
import { saveDatabase } from "../support/restore.ts";
import { type Deployment, openDeployment } from "./deployment/open-deployment.ts";
import { PROBES } from "./probes/all.ts";
import { OPERATIONS, scopeOf } from "./scopes.ts";

/** Operations that are no GET, and no query by POST. */
const WRITES = OPERATIONS.filter((operation) => {
  const [method = "", path = ""] = operation.split(" ");
  const { responses } =
    openApi.paths[path.startsWith("/v1/") ? path : `/api/v1${path}`]?.[method.toLowerCase()] ?? {};
  return method !== "GET" && responses?.[304] === undefined;
});

let deployment: Deployment;
let restore: () => Promise<void>;

beforeAll(async () => {
  deployment = await openDeployment();
  restore = await saveDatabase();
});

describe.each(WRITES)("%s", (operation) => {
  it("answers with a bookmark", async () => {
    const { service, resources, tokens } = deployment;
    const token = scopeOf(operation) === "admin" ? undefined : tokens.owner;
    for (const { fields, status = 200 } of PROBES[operation] ?? []) {
      const answer = await service.ask(operation, fields(resources, deployment), token);
      await restore();
      expect(answer.status, answer.body).toBe(status);
      if (status === 200)
        expect(answer.headers.get("x-d1-bookmark")).toMatch(/^[0-9a-f]+(-[0-9a-f]+)+$/);
    }
  });
});
