import { describe, expect, it } from "vitest";
import { createClient, parseWire, ServiceError, unwrap } from "../../client/index.ts";
import { service } from "../support/client.ts";

const BASE = "http://service.test";

/** A client of a service that answers what it is told to, one answer after the other. */
function scripted(...answers: (Response | Error)[]) {
  const sent: Request[] = [];
  const client = createClient({
    baseUrl: `${BASE}/api/v1/`,
    token: () => "key",
    fetch: async (request) => {
      sent.push(request);
      const next = answers.shift() ?? Response.json({ status: "success", data: {} });
      if (next instanceof Error) throw next;
      return next;
    },
  });
  return { client, sent };
}

const failure = (status: number, headers: Record<string, string> = { "retry-after": "0" }) =>
  Response.json(
    { status: "error", error: { message: "no", code: "unavailable" } },
    { status, headers },
  );
const lost = () => new TypeError("connection lost");
const QUERY = { params: { query: { network: "Preprod" } } } as const;
const KEY = { body: { permission: "User" } } as const;

describe("createClient", () => {
  const { client } = service();

  it("asks the service with its key, and tells its errors apart", async () => {
    const key = { permission: "User", canPay: true } as const;
    const created = unwrap(await client.POST("/api/v1/api-key", { body: key }));
    expect(created.token).toMatch(/\S/);
    const { data } = await client.GET("/api/v1/api-key-status");
    expect(data?.data.canAdmin).toBe(true);
    const bots = await client.GET("/v1/admin/worker-bots", { params: { query: {} } });
    expect(bots.data?.data.workerBots).toBeDefined();

    const tooMany = await client.GET("/api/v1/purchase", {
      params: { query: { network: "Preprod", limit: 101 } },
    });
    expect(tooMany.error?.error).toMatchObject({ code: "invalid_request", field: "limit" });
    const refusal = new ServiceError(tooMany.response, tooMany.error);
    expect(() => unwrap(tooMany)).toThrow(refusal);
    expect(refusal).toMatchObject({ status: 400, code: "invalid_request", field: "limit" });
  });
});

describe("what is sent again", () => {
  it("is what reads, after errors and lost connections, as often as attempts allow", async () => {
    const { client, sent } = scripted(lost(), failure(502), failure(429));
    expect((await client.GET("/api/v1/purchase", QUERY)).response.status).toBe(200);
    expect(sent).toHaveLength(4);
    expect(sent.map(({ headers }) => headers.get("token"))).toEqual(Array(4).fill("key"));

    const down = scripted(...Array.from({ length: 9 }, () => failure(503)));
    expect((await down.client.GET("/api/v1/purchase", QUERY)).response.status).toBe(503);
    expect(down.sent).toHaveLength(4);
    const checking = scripted(lost());
    await checking.client.POST("/api/v1/purchase/verify", {} as never);
    expect(checking.sent).toHaveLength(2);
  });

  it("is a POST, under one Idempotency-Key that each call has for itself", async () => {
    const { client, sent } = scripted(lost(), failure(504), failure(500));
    await client.POST("/api/v1/api-key", KEY);
    await client.POST("/api/v1/api-key", KEY);
    const keys = sent.map(({ headers }) => headers.get("idempotency-key"));
    expect(new Set(keys.slice(0, 4)).size).toBe(1);
    expect(new Set(keys).size).toBe(2);
    expect(await Promise.all(sent.map((request) => request.text()))).toEqual(
      Array(5).fill('{"permission":"User"}'),
    );

    const own = scripted(failure(503));
    await own.client.POST("/api/v1/api-key", { ...KEY, headers: { "Idempotency-Key": "mine" } });
    expect(own.sent.map(({ headers }) => headers.get("idempotency-key"))).toEqual(["mine", "mine"]);
  });

  it("is no change of unknown outcome, unless the service says that nothing was done", async () => {
    const change = { body: { id: "id" } };
    const { client, sent } = scripted(failure(502), failure(429), failure(429));
    expect((await client.DELETE("/api/v1/api-key", change)).response.status).toBe(502);
    expect((await client.DELETE("/api/v1/api-key", change)).response.status).toBe(200);
    expect(sent).toHaveLength(4);
    await expect(scripted(lost()).client.DELETE("/api/v1/api-key", change)).rejects.toThrow("lost");
  });

  it("is nothing that the service wants much later, nor what the caller has given up", async () => {
    const later = scripted(failure(429, { "retry-after": "61" }));
    const { error, response } = await later.client.GET("/api/v1/purchase", QUERY);
    expect(new ServiceError(response, error).retryAfterMs).toBe(61_000);
    expect(later.sent).toHaveLength(1);

    const given = new AbortController();
    const slow = scripted(failure(503, { "retry-after": "30" }));
    const waiting = slow.client.GET("/api/v1/purchase", { ...QUERY, signal: given.signal });
    given.abort(new Error("given up"));
    await expect(waiting).rejects.toThrow("given up");
  });
});

describe("parseWire", () => {
  it("reads both spellings as one, and leaves free text alone", () => {
    const record = (names: { type: string; fees: string; format: string; check: string }) => ({
      paymentSourceType: names.type,
      [names.fees]: 5,
      name: "SLACK Web3CardanoV2",
      metadata: '{"Web3CardanoV1":"lovelace"}',
      Webhooks: [{ format: names.format }],
      Checks: [{ id: names.check, label: "cardano" }],
      CapabilityTypes: ["x"],
    });
    const own = record({
      type: "Web3ChainV2",
      fees: "totalBuyerChainFees",
      format: "CHAT",
      check: "chain.rpc_provider",
    });
    const other = record({
      type: "Web3CardanoV2",
      fees: "totalBuyerCardanoFees",
      format: "SLACK",
      check: "cardano.rpc_provider",
    });
    expect(parseWire(JSON.stringify(other))).toEqual(own);
    expect(parseWire(JSON.stringify(own))).toEqual(own);
    expect(parseWire('{"Balance":[{"unit":"Lovelace","quantity":"1"}]}')).toEqual({
      Balance: [{ unit: "", quantity: "1" }],
    });
  });
});
