import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { getDurableObject } from "../../src/env.ts";

const sources = import.meta.glob<string>(["../../src/**/*.ts", "../../durable-objects/**/*.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});

/** What the platform is asked for besides the object's id. */
function askedOptions(location: string | undefined): unknown {
  let asked: unknown;
  const namespace = {
    idFromName: (name: string) => env.SOURCE_CURSOR.idFromName(name),
    get: (id: DurableObjectId, options: unknown) => {
      asked = options;
      return env.SOURCE_CURSOR.get(id);
    },
  } as unknown as DurableObjectNamespace;
  getDurableObject(location === undefined ? {} : { OBJECT_LOCATION: location }, namespace, "one");
  return asked;
}

it("objects are made in the region that OBJECT_LOCATION names", () => {
  expect(askedOptions("weur")).toEqual({ locationHint: "weur" });
  for (const none of [undefined, "", "mars", "WEUR"]) expect(askedOptions(none)).toEqual({});
});

it("all objects are got in one place", () => {
  const places = Object.entries(sources).filter(([, text]) => /idFromName|getByName/.test(text));
  expect(places.map(([path]) => path)).toEqual(["../../src/env.ts"]);
});
