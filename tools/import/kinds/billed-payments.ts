import * as z from "zod";
import { hashIdentifier } from "../../../src/escrow/model/escrow-record.ts";
import { invoicedPayment } from "../../../src/invoices/model/tables.ts";
import { defineKind, LeftOut, text } from "../import-context.ts";

/**
 * Payments that an invoice of the old series bills. No invoice here has their base, so no invoice here bills
 * them again.
 */
export const billedPayments = defineKind({
  name: "billed payments",
  table: "PaymentRequest",
  includes: ({ invoiceBaseId }) => invoiceBaseId !== null,
  schema: z.object({ paymentSourceId: text, blockchainIdentifier: text, invoiceBaseId: text }),
  convert({ paymentSourceId, blockchainIdentifier, invoiceBaseId: baseId }, context) {
    const source = context.requireSource(paymentSourceId);
    const newest = context.findRows("InvoiceRevision", "invoiceBaseId", baseId).at(-1);
    if (!newest || newest.isCancelled) throw new LeftOut("its invoice was cancelled there");
    const { network, contractAddress } = source;
    const identifierHash = hashIdentifier(blockchainIdentifier);
    const name = `${identifierHash} ${network} ${contractAddress}`;
    if (!context.claim("invoiced_payment", name, name, "")) return "present";
    const row = { identifierHash, network, contractAddress, baseId };
    return [context.orm.insert(invoicedPayment).values(row).toSQL()];
  },
});
