import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { buy, type Client, createClient, hashInput, PurchaseStopped } from "../../client/index.ts";
import { app, emptyTables } from "../support/app.ts";
import { service } from "../support/client.ts";
import { PurchaseFixture } from "../support/escrow/purchase-fixture.ts";
import { FIXED } from "../support/escrow/quote-fixture.ts";
import { insertKey } from "../support/keys.ts";

beforeEach(emptyTables);

const lost = new TypeError("connection lost");

/** A client that loses some of its requests for a purchase, counted from 1, and repeats none. */
function losing(send: (request: Request) => Promise<Response>, which: readonly number[]) {
  let sent = 0;
  const fetch = async (request: Request) => {
    if (request.url.endsWith("/resolve-blockchain-identifier") && which.includes(++sent))
      throw lost;
    return send(request);
  };
  return createClient({
    baseUrl: "http://service.test",
    token: env.ADMIN_KEY ?? "",
    attempts: 1,
    fetch,
  });
}

it("buy names the limit of a key that another purchase uses up meanwhile", async () => {
  const fixture = await PurchaseFixture.open();
  const bindings = fixture.quotes.fixture.env();
  const spendingLimits = [{ network: "Preprod", unit: "", amount: "5000000" }];
  const token = await insertKey({ canPay: true, spendingLimits });
  const identifierFromPurchaser = "0123456789abcdef0123";
  const orderOf = async (text: string) => {
    const inputHash = await hashInput(identifierFromPurchaser, { text });
    const quote = await fixture.quote({ inputHash });
    return {
      network: "Preprod",
      quote,
      identifierFromPurchaser,
      inputHash,
      atMost: FIXED,
    } as const;
  };
  const [first, second] = [await orderOf("first"), await orderOf("second")];
  const bought = new AbortController();
  const options = { signal: bought.signal, onLook: () => bought.abort(new Error("bought")) };
  const client: Client = createClient({
    baseUrl: "http://service.test",
    token,
    fetch: async (request) => {
      if (new URL(request.url).pathname.endsWith("/purchase") && !bought.signal.aborted)
        await expect(buy(quick, second, options)).rejects.toThrow("bought");
      return app.fetch(request, bindings);
    },
  });
  const quick = createClient({
    baseUrl: "http://service.test",
    token,
    fetch: async (request) => app.fetch(request, bindings),
  });
  await expect(buy(client, first)).rejects.toMatchObject({
    status: 402,
    code: "spending_limit_exceeded",
  });
});

describe.each(["Web3ChainV1", "Web3ChainV2"] as const)("buy at %s", (type) => {
  it("accepts a quote once, within its limit, and says why there is no result", async () => {
    const fixture = await PurchaseFixture.open(type);
    const bindings = fixture.quotes.fixture.env();
    const { client } = service(bindings);
    const identifierFromPurchaser = "0123456789abcdef0123";
    const inputHash = await hashInput(identifierFromPurchaser, { text: "hello" });
    const quote = await fixture.quote({ inputHash });
    const order = { network: "Preprod", quote, identifierFromPurchaser, inputHash } as const;

    const cheap = { ...order, atMost: [{ unit: "", amount: "4999999" }] };
    await expect(buy(client, cheap)).rejects.toThrow(
      'The price is 5000000 of the native coin (unit ""), but atMost allows 4999999: raise it, or do not buy',
    );
    expect(await fixture.purchases()).toEqual([]);
    const other = { ...order, inputHash: "00".repeat(32), atMost: FIXED };
    await expect(buy(client, other)).rejects.toMatchObject({ status: 400 });

    const looked: string[] = [];
    for (let start = 0; start < 2; start++) {
      const given = new AbortController();
      const options = {
        signal: given.signal,
        onLook: ({ id }: { id: string }) => {
          looked.push(id);
          given.abort(new Error("restarted"));
        },
      };
      await expect(buy(client, { ...order, atMost: FIXED }, options)).rejects.toThrow("restarted");
    }
    const [made, ...others] = await fixture.purchases();
    expect(others).toEqual([]);
    expect(looked).toEqual([made.id, made.id]);
    await expect(
      buy(client, { ...order, inputHash: "00".repeat(32), atMost: FIXED }),
    ).rejects.toThrow(PurchaseStopped);

    const failures: unknown[] = [];
    const ending = new AbortController();
    const waiting = buy(
      losing(async (request) => app.fetch(request, bindings), [2, 3]),
      { ...order, atMost: FIXED },
      {
        everyMs: 1,
        signal: ending.signal,
        onError: (error) => failures.push(error),
        onLook: () => failures.length === 2 && ending.abort(new Error("ended")),
      },
    );
    await expect(waiting).rejects.toThrow("ended");
    expect(failures).toEqual([lost, lost]);

    const { blockchainIdentifier } = quote;
    await fixture.ask("/purchase/cancel", { network: "Preprod", blockchainIdentifier });
    const stopped = buy(client, { ...order, atMost: FIXED });
    await expect(stopped).rejects.toMatchObject({ purchase: { id: made.id, onChainState: null } });
  });
});
