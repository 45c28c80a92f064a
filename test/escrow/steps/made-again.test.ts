import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { DisputeDesk } from "../../support/escrow/disputing.ts";
import { StepDesk } from "../../support/escrow/stepping.ts";
import { makeSourceAgain } from "../../support/sources/made-again.ts";

beforeEach(emptyTables);

describe("an escrow whose payment source was removed and made again", () => {
  it("goes on by its identifier with the record of the source in use", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    const { desk: api } = desk.buying;
    const sourceId = await makeSourceAgain(desk.buying);
    const named = { network: "Preprod", blockchainIdentifier: desk.identifier };
    for (const side of ["payment", "purchase"]) {
      const path = `/${side}/resolve-blockchain-identifier`;
      expect((await api.ask("POST", path, named)).data).toMatchObject({
        PaymentSource: { id: sourceId },
      });
    }
    expect(await desk.ask("submit-result")).toMatchObject({
      status: 200,
      data: {
        PaymentSource: { id: sourceId },
        NextAction: { requestedAction: "SubmitResultRequested" },
      },
    });
    expect(await desk.ask("request-refund")).toMatchObject({
      status: 200,
      data: { PaymentSource: { id: sourceId } },
    });
  });

  it("counts once in the books", async () => {
    const desk = await StepDesk.open("Web3ChainV1");
    const books = async () => {
      const counted = async (path: string) => {
        const body = { network: "Preprod", agentIdentifier: null };
        const { data } = await desk.buying.desk.ask<Record<string, unknown>>("POST", path, body);
        const { periodEnd: _, ...rest } = data;
        return rest;
      };
      return [await counted("/payment/income"), await counted("/purchase/spending")];
    };
    const before = await books();
    expect(before).toMatchObject([{ totalTransactions: 1 }, { totalTransactions: 1 }]);
    await makeSourceAgain(desk.buying);
    expect(await desk.buying.shown("payment")).toHaveLength(2);
    expect(await books()).toEqual(before);
  });

  it("is settled for the source in use", async () => {
    const disputed = await DisputeDesk.open("Web3ChainV1");
    const sourceId = await makeSourceAgain(disputed.buying);
    await disputed.later(24);
    const { status, message } = await disputed.propose(0n);
    expect(status, message).toBe(200);
    const { data } = await disputed.desk.ask<{
      Disputes: { paymentSourceId: string; Proposal: object | null }[];
    }>("GET", "/dispute?network=Preprod");
    const proposed = data.Disputes.filter(({ Proposal }) => Proposal !== null);
    expect(proposed).toHaveLength(2);
    for (const { paymentSourceId } of proposed) expect(paymentSourceId).toBe(sourceId);
  });
});
