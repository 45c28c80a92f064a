import { describe, expect, it } from "vitest";
import { MAX_BODY_BYTES, MAX_BODY_DEPTH } from "../../src/http/body.ts";
import { post, send } from "../support/test-app.ts";

describe("an endpoint", () => {
  it.each(["/things", "/things/", "/things?limit=10", "/things/?limit=10"])(
    "answers at %s",
    async (path) => {
      const answer = await send(path);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toEqual({ status: "success", data: { name: "first 10" } });
    },
  );

  it("says Success where the interface does", async () => {
    const answer = await send("/things", { method: "DELETE", body: '{"name":"a"}' });
    expect(await answer.json()).toEqual({ status: "Success", data: { name: "a" } });
  });

  it.each([
    undefined,
    "application/json",
    "text/plain",
    "application/x-www-form-urlencoded",
    "nonsense",
  ])("reads a JSON body of content type %s", async (type) => {
    const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
    const body = new TextEncoder().encode('{"name":"a","unknown":1}');
    const answer = await send("/things", { method: "POST", body, headers });
    expect(answer.status).toBe(200);
  });

  it("carries its request id, CORS and security headers on every answer", async () => {
    for (const [path, expected] of [
      ["/things", 200],
      ["/nothing", 404],
      ["/things?limit=0", 400],
    ] as const) {
      const { headers, status } = await send(path);
      expect(status).toBe(expected);
      expect(headers.get("x-request-id")).toMatch(/^[0-9a-z]{26}$/);
      expect(headers.get("access-control-allow-origin")).toBe("*");
      expect(headers.get("access-control-expose-headers")).toBe(
        "x-request-id,retry-after,x-d1-bookmark,etag,link,ratelimit,ratelimit-policy,x-ignored-fields",
      );
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cache-control")).toBe("no-store");
    }
  });

  it("answers a browser's preflight", async () => {
    const headers = {
      origin: "https://app.example.com",
      "access-control-request-method": "PATCH",
      "access-control-request-headers": "token",
    };
    const answer = await send("/things", { method: "OPTIONS", headers }, null);
    expect(answer.status).toBe(204);
    expect(answer.headers.get("access-control-allow-methods")).toBe(
      "GET,POST,PATCH,DELETE,OPTIONS",
    );
    expect(answer.headers.get("access-control-allow-headers")).toContain("token,authorization");
  });
});

describe("an API key", () => {
  const ask = async (headers: Record<string, string>) => {
    const answer = await send("/things", { headers }, null);
    const { error } = (await answer.json()) as { error?: Record<string, string> };
    return { status: answer.status, code: error?.code, message: error?.message };
  };

  it.each([
    { token: "user" },
    { authorization: "Bearer user" },
    { authorization: "bearer  user " },
    { token: "", authorization: "Bearer user" },
    { token: "user", authorization: "Bearer user" },
    { token: "user", authorization: "Basic dXNlcjpwYXNzd29yZA==" },
    { token: "user", authorization: "Bearer" },
  ])("is taken from the headers %j", async (headers) => {
    expect((await ask(headers as Record<string, string>)).status).toBe(200);
  });

  it.each([{}, { token: "" }, { authorization: "user" }, { authorization: "Basic user" }])(
    "is missing in the headers %j, and both places for it are named",
    async (headers) => {
      expect(await ask(headers as Record<string, string>)).toEqual({
        status: 401,
        code: "missing_key",
        message: "token: an API key is required in this header, or as Authorization: Bearer",
      });
    },
  );

  it("is not chosen from two different ones", async () => {
    for (const [token, bearer] of [
      ["user", "admin"],
      ["user", "unknown"],
      ["unknown", "user"],
    ] as const)
      expect(await ask({ token, authorization: `Bearer ${bearer}` })).toEqual({
        status: 401,
        code: "ambiguous_key",
        message: "token: differs from the API key in Authorization. Send only one of them.",
      });
  });

  it("is unknown by the header that it was sent in", async () => {
    const message = "the API key is unknown or revoked";
    const expected = { status: 401, code: "unknown_key" };
    expect(await ask({ token: "no" })).toEqual({ ...expected, message: `token: ${message}` });
    expect(await ask({ authorization: "Bearer no" })).toEqual({
      ...expected,
      message: `authorization: ${message}`,
    });
  });
});

describe("the order of checks", () => {
  const badBody = { method: "POST", body: "{" };

  it.each([
    ["an unknown path before the key", "/nothing", {}, null, 404],
    ["a wrong method before the key", "/things", { method: "PATCH", body: "{" }, null, 405],
    ["the key before the body", "/things", badBody, null, 401],
    ["the permission before the body", "/things", badBody, "user", 403],
    ["the body when key and permission are right", "/things", badBody, "payer", 400],
  ])("judges %s", async (_, path, init, token, status) => {
    expect((await send(path, init, token)).status).toBe(status);
  });

  it("names the allowed methods of a known path", async () => {
    const answer = await send("/things/", { method: "PUT" });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")?.split(", ").sort()).toEqual([
      "DELETE",
      "GET",
      "HEAD",
      "OPTIONS",
      "POST",
    ]);
  });
});

describe("a body", () => {
  it.each([
    ["", 400, "body: is required"],
    ["  ", 400, "body: is required"],
    ["{", 400, "body: is JSON that ends too early, at line 1, column 2"],
    ['{\n  "name":"secret words}', 400, "body: is JSON that ends too early, at line 2, column 24"],
    ['{"name":"a",\n"note":é}', 400, "body: is not valid JSON, at line 2, column 8"],
    ["[]", 400, "body: must be an object"],
    ["null", 400, "body: must be an object"],
    ["{}", 400, "name: is required"],
  ])("%j is refused", async (body, status, message) => {
    const answer = await post(body);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ status: "error", error: { message } });
  });

  it("that is not UTF-8 is refused", async () => {
    const body = new Uint8Array([0x22, 0xff, 0x22]);
    expect((await send("/things", { method: "POST", body })).status).toBe(400);
  });

  it("is read at the greatest allowed depth, and refused one level deeper", async () => {
    const nested = (depth: number, open = "[", close = "]") =>
      `{"name":"a","[":"\\"[[{","deep":${open.repeat(depth - 1)}1${close.repeat(depth - 1)}}`;
    expect((await post(nested(MAX_BODY_DEPTH))).status).toBe(200);
    for (const body of [
      nested(MAX_BODY_DEPTH + 1),
      nested(100_000),
      nested(20_000, '{"a":', "}"),
    ]) {
      const answer = await post(body);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        status: "error",
        error: { message: `body: must be nested at most ${MAX_BODY_DEPTH} levels deep` },
      });
    }
  });

  it("of one mebibyte is read, of one byte more is refused, streamed or not", async () => {
    const bytes = (size: number) => `{"name":"a","pad":"${"x".repeat(size - 21)}"}`;
    expect(bytes(100)).toHaveLength(100);
    expect((await post(bytes(MAX_BODY_BYTES))).status).toBe(200);
    expect((await post(bytes(MAX_BODY_BYTES + 1))).status).toBe(413);
    const streamed = new Blob([bytes(MAX_BODY_BYTES + 1)]).stream();
    expect((await send("/things", { method: "POST", body: streamed })).status).toBe(413);
  });
});

describe("a request that hangs", () => {
  it("is answered with 503 and Retry-After when its time is up", async () => {
    const answer = await send("/hang");
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(answer.headers.get("x-request-id")).not.toBeNull();
  });
});
