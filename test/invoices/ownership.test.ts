import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { ask, BUYER, documents, pay, send, signed } from "./support.ts";

beforeEach(emptyTables);

describe("POST /invoice/monthly for an invoice that another key asked for", () => {
  it("200 with the same bytes when nothing changed", async () => {
    await pay({});
    const first = await ask();
    const token = await insertKey({ canPay: true });
    const answer = await send("POST", "monthly", signed(), { token });
    expect(answer).toMatchObject({ status: 200, data: first.data });
    expect(await documents()).toHaveLength(1);
  });

  it.each([
    ["another buyer's address", { Buyer: { ...BUYER, city: "Kiel" } }],
    ["another language", { Invoice: { language: "de" } }],
    ["a revision by force", { forceRegenerate: true }],
  ])("403 when it asks for %s, and nothing changes", async (_, change) => {
    await pay({});
    const owner = await insertKey({ canPay: true });
    const first = await send("POST", "monthly", signed(), { token: owner });
    const stranger = await insertKey({ canPay: true });
    const refused = await send("POST", "monthly", signed(change), { token: stranger });
    expect(refused.status).toBe(403);
    expect(refused.message).toContain("another API key");
    expect(await documents()).toHaveLength(1);
    const again = await send("POST", "monthly", signed(), { token: stranger });
    expect(again.data).toEqual(first.data);
  });

  it("403 when there are new payments, which its own key or an Admin bills", async () => {
    await pay({});
    const owner = await insertKey({ canPay: true });
    const stranger = await insertKey({ canPay: true });
    await send("POST", "monthly", signed(), { token: owner });
    await pay({});
    expect((await send("POST", "monthly", signed(), { token: stranger })).status).toBe(403);
    expect((await send("POST", "monthly", signed(), { token: owner })).status).toBe(200);
    expect(await documents()).toHaveLength(3);
    const change = { Invoice: { language: "de" } };
    expect((await send("POST", "monthly", signed(change))).status).toBe(200);
    // What an Admin made is the Admin's.
    expect((await send("POST", "monthly", signed(), { token: owner })).status).toBe(403);
    expect(await documents()).toHaveLength(5);
  });
});
