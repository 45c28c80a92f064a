import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { DisputeFixture } from "../../support/escrow/dispute-fixture.ts";
import { StepFixture } from "../../support/escrow/step-fixture.ts";
import { recreateSource } from "../../support/sources/recreate-source.ts";

beforeEach(emptyTables);

describe("an escrow whose payment source was removed and made again", () => {
  it("goes on by its identifier with the record of the source in use", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const { fixture: api } = fixture.buying;
    const sourceId = await recreateSource(fixture.buying);
    const named = { network: "Preprod", blockchainIdentifier: fixture.identifier };
    for (const side of ["payment", "purchase"]) {
      const path = `/${side}/resolve-blockchain-identifier`;
      expect((await api.ask("POST", path, named)).data).toMatchObject({
        PaymentSource: { id: sourceId },
      });
    }
    expect(await fixture.ask("submit-result")).toMatchObject({
      status: 200,
      data: {
        PaymentSource: { id: sourceId },
        NextAction: { requestedAction: "SubmitResultRequested" },
      },
    });
    expect(await fixture.ask("request-refund")).toMatchObject({
      status: 200,
      data: { PaymentSource: { id: sourceId } },
    });
  });

  it("counts once in the books", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const books = async () => {
      const counted = async (path: string) => {
        const body = { network: "Preprod", agentIdentifier: null };
        const { data } = await fixture.buying.fixture.ask<Record<string, unknown>>(
          "POST",
          path,
          body,
        );
        const { periodEnd: _, ...rest } = data;
        return rest;
      };
      return [await counted("/payment/income"), await counted("/purchase/spending")];
    };
    const before = await books();
    expect(before).toMatchObject([{ totalTransactions: 1 }, { totalTransactions: 1 }]);
    await recreateSource(fixture.buying);
    expect(await fixture.buying.shown("payment")).toHaveLength(2);
    expect(await books()).toEqual(before);
  });

  it("is settled for the source in use", async () => {
    const disputed = await DisputeFixture.open("Web3ChainV1");
    const sourceId = await recreateSource(disputed.buying);
    await disputed.later(24);
    const { status, message } = await disputed.propose(0n);
    expect(status, message).toBe(200);
    const { data } = await disputed.fixture.ask<{
      Disputes: { paymentSourceId: string; Proposal: object | null }[];
    }>("GET", "/dispute?network=Preprod");
    const proposed = data.Disputes.filter(({ Proposal }) => Proposal !== null);
    expect(proposed).toHaveLength(2);
    for (const { paymentSourceId } of proposed) expect(paymentSourceId).toBe(sourceId);
  });
});
