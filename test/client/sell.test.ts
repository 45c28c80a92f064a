import { describe, expect, it } from "vitest";
import { createClient, sell } from "../../client/index.ts";

type Row = { id: string; onChainState: string; resultHash: string; requestedAction?: string };

/** A client of a service that shows some payments, one stamp after the other, and takes results. */
function shop(...rows: Row[]) {
  const submitted: string[] = [];
  const Payments = rows.map(({ requestedAction = "WaitingForExternalAction", ...row }, i) => ({
    ...row,
    blockchainIdentifier: row.id,
    nextActionOrOnChainStateOrResultLastChangedAt: new Date(i).toISOString(),
    NextAction: { requestedAction },
  }));
  const client = createClient({
    baseUrl: "http://service.test",
    fetch: async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname.endsWith("/submit-result")) {
        const body = (await request.json()) as { blockchainIdentifier: string };
        submitted.push(body.blockchainIdentifier);
        return Response.json({ status: "success", data: {} });
      }
      const cursor = Payments.findIndex(({ id }) => id === searchParams.get("cursorId"));
      const data = { Payments: Payments.slice(Math.max(cursor, 0)) };
      return Response.json({ status: "success", data });
    },
  });
  return { client, submitted };
}

const paid = (id: string): Row => ({ id, onChainState: "FundsLocked", resultHash: "" });
const positions = (kept: string[]) => kept.map((position) => position.split("/")[1]);

describe("sell", () => {
  it("works on what is paid and waits for a result, and on nothing else", async () => {
    const { client, submitted } = shop(
      paid("a"),
      { ...paid("b"), onChainState: "ResultSubmitted", resultHash: "00" },
      { ...paid("c"), requestedAction: "SubmitResultRequested" },
      { ...paid("d"), onChainState: "RefundRequested" },
      paid("e"),
    );
    const kept: string[] = [];
    await sell(client, "Preprod", {
      work: async ({ id }) => (id === "e" ? null : "ab".repeat(32)),
      keep: (position) => void kept.push(position),
      once: true,
    });
    expect(submitted.sort()).toEqual(["a", "d"]);
    expect(positions(kept).at(-1)).toBe("e");
  });

  it("keeps no position beyond a job that is not finished, and begins there again", async () => {
    const { client, submitted } = shop(paid("a"), paid("b"), paid("c"));
    const kept: string[] = [];
    const options = { keep: (position: string) => void kept.push(position), once: true };
    const fails = sell(client, "Preprod", {
      ...options,
      work: async ({ id }) => {
        if (id === "b") throw new Error("no idea");
        return "ab".repeat(32);
      },
    });
    await expect(fails).rejects.toThrow("no idea");
    expect(positions(kept)).toEqual(["a"]);
    expect(submitted).toContain("a");

    const again: string[] = [];
    const from = kept.at(-1);
    const work = async ({ id }: { id: string }) => {
      again.push(id);
      return "ab".repeat(32);
    };
    await sell(client, "Preprod", { ...options, from, work });
    expect(again).toEqual(["b", "c"]);
    expect(positions(kept).at(-1)).toBe("c");
  });

  it("passes over a job that failed where somebody is told of it", async () => {
    const { client, submitted } = shop(paid("a"), paid("b"));
    const failed: string[] = [];
    const kept: string[] = [];
    await sell(client, "Preprod", {
      work: async ({ id }) => {
        if (id === "a") throw new Error("no idea");
        return "ab".repeat(32);
      },
      onFailed: (_, { id }) => failed.push(id),
      keep: (position) => void kept.push(position),
      once: true,
    });
    expect({ failed, submitted }).toEqual({ failed: ["a"], submitted: ["b"] });
    expect(positions(kept).at(-1)).toBe("b");
  });
});
