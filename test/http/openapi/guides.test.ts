import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import index from "../../../docs/llms.txt?raw";
import { type EventsDocument, eventsPage } from "../../../tools/docs/events.ts";
import { app } from "../../support/app.ts";
import { openApi, validatorOf } from "../../support/endpoints/document.ts";

const GUIDES: Record<string, string> = import.meta.glob("../../../docs/*.md", {
  query: "?raw",
  import: "default",
  eager: true,
});
const NAMES = Object.keys(GUIDES).map((path) => path.split("/").at(-1) ?? "");
const get = (path: string) => app.request(path, {}, env);

describe("GET /llms.txt", () => {
  it("lists every guide of docs/, and nothing that is not there", async () => {
    const answer = await get("/llms.txt");
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe(index);
    const listed = [...index.matchAll(/\]\(\/docs\/([^)]+\.md)\)/g)].map(([, name]) => name);
    expect(listed.sort()).toEqual(NAMES.sort());
  });
});

describe("GET /docs/*.md", () => {
  it("answers the guides as Markdown, and 404 to others", async () => {
    for (const name of NAMES) {
      const answer = await get(`/docs/${name}`);
      expect([name, answer.status]).toEqual([name, 200]);
      expect(answer.headers.get("content-type")).toContain("text/markdown");
      expect(await answer.text()).toBe(GUIDES[`../../../docs/${name}`]);
    }
    expect((await get("/docs/none.md")).status).toBe(404);
  });
});

it("docs/webhook-events.md has a body of each kind, as the document describes it", () => {
  const { webhooks } = openApi as unknown as EventsDocument;
  const page = GUIDES["../../../docs/webhook-events.md"] ?? "";
  expect(page, "npm run document").toBe(eventsPage(openApi as unknown as EventsDocument));
  const bodies = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, body = ""]) =>
    JSON.parse(body),
  );
  expect(bodies.map(({ type }) => type).sort()).toEqual(Object.keys(webhooks).sort());
  for (const body of bodies) {
    const { schema } = webhooks[body.type]?.post.requestBody.content["application/json"] ?? {};
    expect([body.type, validatorOf({ ...schema })(body)]).toEqual([body.type, true]);
  }
});
