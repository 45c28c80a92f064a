import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import index from "../../../docs/llms.txt?raw";
import { type EventsDocument, eventExamples, eventsPage } from "../../../tools/docs/events.ts";
import { withFiles } from "../../../tools/docs/with-files.ts";
import { app } from "../../support/app.ts";
import { openApi, validatorOf } from "../../support/endpoints/document.ts";

const GUIDES: Record<string, string> = import.meta.glob("../../../docs/*.md", {
  query: "?raw",
  import: "default",
  eager: true,
});
const PROGRAMS: Record<string, string> = import.meta.glob(
  ["../../../examples/*.*", "../../../examples/guides/*.*"],
  {
    query: "?raw",
    import: "default",
    eager: true,
  },
);
const NAMES = Object.keys(GUIDES).map((path) => path.split("/").at(-1) ?? "");
const programOf = (path: string) => PROGRAMS[`../../../${path}`] ?? "";
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
  it("answers the guides as Markdown with their programs, and 404 to others", async () => {
    for (const name of NAMES) {
      const answer = await get(`/docs/${name}`);
      expect([name, answer.status]).toEqual([name, 200]);
      expect(answer.headers.get("content-type")).toContain("text/markdown");
      const guide = GUIDES[`../../../docs/${name}`] ?? "";
      expect(await answer.text()).toBe(withFiles(guide, programOf));
    }
    expect((await get("/docs/none.md")).status).toBe(404);
  });
});

describe("docs/webhook-events.md", () => {
  const document = openApi as unknown as EventsDocument;
  const page = GUIDES["../../../docs/webhook-events.md"] ?? "";

  it("has each kind, as the document describes it", () => {
    expect(page, "npm run document").toBe(eventsPage(document));
    const kinds = [...page.matchAll(/^## (.+)$/gm)].map(([, kind]) => kind);
    expect(kinds.sort()).toEqual(Object.keys(document.webhooks).sort());
    for (const [, json = ""] of page.matchAll(/^```json\n([\s\S]*?)^```$/gm))
      expect(JSON.parse(json)).toBeTypeOf("object");
  });

  it("shows bodies that the document allows", () => {
    for (const [kind, body] of eventExamples(document)) {
      const { schema } =
        document.webhooks[kind]?.post.requestBody.content["application/json"] ?? {};
      expect([kind, body.type, validatorOf({ ...schema })(body)]).toEqual([kind, kind, true]);
    }
  });
});
