/** Payments and invoices as clients of the payment service read them. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ask, BUYER, MONTH, pay, SELLER } from "../invoices/support.ts";
import { emptyTables } from "../support/app.ts";
import { QuoteFixture } from "../support/escrow/quote-fixture.ts";
import { type ExternalApp, startBoth } from "./external-app.ts";

let own: ExternalApp;
let external: ExternalApp;

beforeAll(async () => {
  ({ own, external } = await startBoth());
});
beforeEach(emptyTables);

async function writePayment(): Promise<void> {
  const fixture = await QuoteFixture.open();
  await fixture.agent();
  expect((await fixture.quote()).status).toBe(200);
}

const get = async (path: string) => (await external.request("GET", `/api/v1${path}`)).data;

describe("payments", () => {
  it.each(["", "/diff", "/diff/next-action", "/diff/onchain-state-or-result"])(
    "have an ActionHistory in GET /payment%s",
    async (path) => {
      await writePayment();
      const { Payments } = await get(`/payment${path}?network=Preprod`);
      expect(Payments).toMatchObject([{ ActionHistory: null }]);
      const { data } = await own.request("GET", `/api/v1/payment${path}?network=Preprod`);
      expect(data.Payments[0]).not.toHaveProperty("ActionHistory");
    },
  );

  it("have it when they are resolved by their identifiers", async () => {
    await writePayment();
    const [{ blockchainIdentifier, id }] = (await get("/payment?network=Preprod")).Payments;
    const path = "/api/v1/payment/resolve-blockchain-identifier";
    const body = { network: "Preprod", blockchainIdentifier };
    const { data } = await external.request("POST", path, { body });
    expect(data).toMatchObject({ id, ActionHistory: null });
  });
});

describe("invoices", () => {
  it("are listed with the names of the payment service", async () => {
    await pay({});
    const before = await get(`/invoice/monthly/missing?network=Preprod&month=${MONTH}`);
    const [{ billableAt, Funds }] = before.UninvoicedPayments;
    expect(before.UninvoicedPayments).toMatchObject([
      {
        ...{ finalizedAt: billableAt, RequestedFunds: Funds },
        ...{ buyerWalletAddress: null, sellerWalletAddress: null },
      },
    ]);
    await ask({ Invoice: { title: "Work", language: "de" } });
    await ask({ Invoice: { title: "Other work", language: "de" } });
    const list = `/invoice/monthly?network=Preprod&month=${MONTH}`;
    const [invoice, ...others] = (await get(`${list}&includePdf=true`)).Invoices;
    expect(others).toEqual([]);
    expect(invoice).toMatchObject({
      ...{ invoiceId: invoice.invoiceNumber, revisionId: invoice.id, revisionCount: 2 },
      ...{ invoiceMonth: 9, invoiceYear: 2025, currencyShortId: invoice.invoiceCurrency },
      ...{ invoiceTitle: "Other work", invoiceDescription: null, language: "de" },
      ...{ localizationFormat: "de", itemCount: 1, CoveredPaymentRequestIds: [] },
      ...{ sellerCompanyName: SELLER.companyName, sellerCity: SELLER.city },
      ...{ buyerName: BUYER.name, buyerPhone: null, buyerZipCode: BUYER.zipCode },
      ...{ cancellationReason: null, cancellationDate: null, cancellationId: null },
      ...{ invoicePdf: invoice.pdf, cancellationInvoicePdf: null },
    });
    const [bare] = (await get(`${list}&includePdf=false`)).Invoices;
    expect(bare).toMatchObject({ invoicePdf: "", invoiceDate: expect.stringMatching(/T00:00:00/) });
    const all = (await get(`${list}&invoiceBaseId=${invoice.invoiceBaseId}`)).Invoices;
    const cancellation = all.find(({ kind }: { kind: string }) => kind === "Cancellation");
    expect(cancellation).toMatchObject({
      ...{ cancellationReason: "texts", cancellationId: cancellation.invoiceNumber },
      ...{ cancellationDate: cancellation.invoiceDate, invoicePdf: cancellation.pdf },
      ...{ cancellationInvoicePdf: cancellation.pdf, vatRate: expect.any(Number) },
    });
  });
});
