import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { SourceApi } from "../support/source-api.ts";

let api: SourceApi;

beforeAll(async () => {
  api = await SourceApi.open();
});

beforeEach(async () => {
  api.woken.length = 0;
  await emptyTables();
});

describe("GET /payment-source-extended", () => {
  it("pages newest first, after the last id seen", async () => {
    const ids: string[] = [];
    for (const { address } of api.contracts) {
      const made = await api.create({ smartContractAddress: address });
      ids.unshift(made.data.id);
    }
    ids.sort().reverse();
    const idsAt = async (query: string): Promise<string[]> => {
      const { data } = await api.list(query);
      return data.ExtendedPaymentSources.map(({ id }: { id: string }) => id);
    };
    expect(await idsAt("")).toEqual(ids);
    expect(await idsAt("?limit=1")).toEqual(ids.slice(0, 1));
    expect(await idsAt(`?limit=1&cursorId=${ids[0]}`)).toEqual(ids.slice(1, 2));
    expect(await idsAt(`?cursorId=${ids.at(-1)}`)).toEqual([]);
  });
});
