import { beforeEach, describe, expect, it } from "vitest";
import { buy, hashInput, PurchaseStopped } from "../../client/index.ts";
import { emptyTables } from "../support/app.ts";
import { service } from "../support/client.ts";
import { PurchaseFixture } from "../support/escrow/purchase-fixture.ts";
import { FIXED } from "../support/escrow/quote-fixture.ts";

beforeEach(emptyTables);

describe.each(["Web3ChainV1", "Web3ChainV2"] as const)("buy at %s", (type) => {
  it("accepts a quote once, within its limit, and says why there is no result", async () => {
    const fixture = await PurchaseFixture.open(type);
    const { client } = service(fixture.quotes.fixture.env());
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

    const { blockchainIdentifier } = quote;
    await fixture.ask("/purchase/cancel", { network: "Preprod", blockchainIdentifier });
    const stopped = buy(client, { ...order, atMost: FIXED });
    await expect(stopped).rejects.toMatchObject({ purchase: { id: made.id, onChainState: null } });
  });
});
