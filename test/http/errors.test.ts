import { Hono } from "hono";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ProviderError } from "../../src/chain/provider/provider.ts";
import {
  ArchiveBehindError,
  DatabaseFullError,
  DatabaseUnavailableError,
} from "../../src/db/client.ts";
import type { AppEnv } from "../../src/http/context.ts";
import { ApiError, createErrorResponse } from "../../src/http/errors.ts";
import { assignRequestId } from "../../src/http/headers.ts";

async function answerTo(error: Error) {
  const app = new Hono<AppEnv>();
  app.use(assignRequestId);
  app.onError(createErrorResponse);
  app.get("/", () => {
    throw error;
  });
  const answer = await app.request("/");
  const body = (await answer.json()) as { status: string; error: { message: string } };
  return { answer, body };
}

const wrapped = (cause: Error) => new Error("Failed query: insert params: a secret", { cause });

describe("an error", () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  afterEach(() => logged.mockClear());

  it.each([
    ["ours", new ApiError(409, "id: is taken"), 409, "id: is taken", null, "conflict"],
    [
      "of the database",
      new DatabaseUnavailableError("x"),
      503,
      "The database is unavailable",
      "2",
      "database_unavailable",
    ],
    [
      "of the database inside a wrapper",
      wrapped(new DatabaseUnavailableError("x")),
      503,
      "The database is unavailable",
      "2",
      "database_unavailable",
    ],
    [
      "of an archive that was set back",
      new ArchiveBehindError("x"),
      503,
      "An archive lacks records. Try again later.",
      "60",
      "archive_behind",
    ],
    [
      "of a database without room",
      wrapped(new DatabaseFullError("x")),
      503,
      "The database is full. Try again later.",
      "60",
      "database_full",
    ],
    [
      "of the provider",
      new ProviderError("x", { status: 500 }),
      502,
      "The chain provider failed",
      null,
      "chain_provider_failed",
    ],
    [
      "of the provider that came too late",
      new ProviderError("x", { cause: new DOMException("slow", "TimeoutError") }),
      504,
      "The chain provider did not answer in time",
      "5",
      "upstream_timeout",
    ],
    [
      "of the provider's limit",
      new ProviderError("x", { status: 402 }),
      503,
      "The chain provider accepts no calls at the moment",
      "60",
      "chain_provider_unavailable",
    ],
    [
      "that nobody foresaw",
      new TypeError("secret detail"),
      500,
      "Internal Server Error",
      null,
      "internal_error",
    ],
  ])(
    "%s is answered with its status, code, message and Retry-After",
    async (_, error, status, message, retryAfter, code) => {
      const { answer, body } = await answerTo(error);
      const requestId = answer.headers.get("x-request-id");
      expect(answer.status).toBe(status);
      expect(body).toEqual({
        status: "error",
        error: {
          message,
          code,
          ...(message.startsWith("id: ") && { field: "id" }),
          requestId,
          docs: `http://localhost/docs/errors#${code}`,
        },
      });
      expect(answer.headers.get("retry-after")).toBe(retryAfter);
      expect(requestId).toMatch(/^[0-9a-z]{26}$/);
    },
  );

  it.each([
    ["limit: must be at most 50; take: is required", "limit"],
    ["paymentPayload.accepted.amount: must be 5", "paymentPayload.accepted.amount"],
    ["AdminWallets[2].walletAddress: is not an address", "AdminWallets[2].walletAddress"],
    ['CurrencyConversion[""]: must be more than 0', 'CurrencyConversion[""]'],
    ["Idempotency-Key: was used for another request", "Idempotency-Key"],
    ["PUT is not allowed here; allowed: GET", null],
    ["Internal Server Error", null],
  ])("that says %j names the field %s", (message, field) => {
    expect(new ApiError(400, message).field).toBe(field);
  });

  it("of the provider's limit says when to come back", async () => {
    const retryAt = Date.now() + 90_000;
    const { answer } = await answerTo(new ProviderError("x", { status: 429, retryAt }));
    const seconds = Number(answer.headers.get("retry-after"));
    expect(seconds).toBeGreaterThanOrEqual((retryAt - Date.now()) / 1000);
    expect(seconds).toBeLessThanOrEqual(90);
  });

  it("of ours is not logged, one of the service is, with the request's id", async () => {
    await answerTo(new ApiError(404, "no such thing"));
    expect(logged).not.toHaveBeenCalled();
    const { answer } = await answerTo(new TypeError("detail for us"));
    const line = JSON.parse(String(logged.mock.calls[0]?.[0]));
    expect(line).toMatchObject({
      requestId: answer.headers.get("x-request-id"),
      error: "TypeError",
      message: "detail for us",
    });
  });

  it("is logged without the parameters that a wrapper repeats", async () => {
    await answerTo(wrapped(new Error("D1_ERROR: no such table")));
    expect(String(logged.mock.calls[0]?.[0])).not.toContain("a secret");
  });
});
