import { utf8ToBytes } from "@noble/hashes/utils.js";
import { signCoseSign1 } from "../../src/chain/cose.ts";
import { RETRIEVE_ACTION } from "../../src/invoices/model/schemas.ts";
import { buildSignedMessage } from "../../src/invoices/model/verify-buyer.ts";
import { DEMO_DOLLAR } from "./currency.ts";
import type { PlayedLife } from "./scenes.ts";

/** The signature of the command holds this long. */
const VALID_MS = 60 * 60 * 1000;

const ADDRESS = { city: "Berlin", zipCode: "10115", street: "Invalidenstraße", streetNumber: "1" };
const SELLER = {
  ...ADDRESS,
  country: "Germany",
  email: null,
  phone: null,
  name: null,
  companyName: "Demo Agents GmbH",
  vatNumber: "DE123456789",
};
const BUYER = { ...SELLER, companyName: null, name: "Demo Buyer", vatNumber: null };

/** Turns the answer on its standard input into a file; any Node does. */
const WRITE_PDF = `node -e '${[
  "const { data, error } = JSON.parse(fs.readFileSync(0))",
  "if (error) throw error.message",
  'fs.writeFileSync("invoice.pdf", Buffer.from(data.invoice, "base64"))',
].join("; ")}'`;

/**
 * A shell command that writes `invoice.pdf`, with the buyer's signature. The invoice lists the
 * buyer's purchases from the seller in the month of a finished escrow.
 *
 * @param now - epoch milliseconds
 */
export function invoiceCommand(
  { url, token }: { url: string; token: string },
  { buyer, seller, endedAt }: Pick<PlayedLife, "buyer" | "seller" | "endedAt">,
  now: number,
): string {
  const signed = {
    action: RETRIEVE_ACTION,
    validUntil: now + VALID_MS,
    buyerWalletVkey: buyer.vkey,
    month: new Date(endedAt).toISOString().slice(0, 7),
  } as const;
  const body = {
    ...signed,
    ...signCoseSign1(utf8ToBytes(buildSignedMessage(signed, BUYER)), buyer.keys),
    walletAddress: buyer.address,
    sellerWalletVkey: seller.vkey,
    invoiceCurrency: "eur",
    CurrencyConversion: { "": 0.45, [DEMO_DOLLAR]: 0.9 },
    decimals: { "": 6, [DEMO_DOLLAR]: 6 },
    vatRate: 0.19,
    Seller: SELLER,
    Buyer: BUYER,
  };
  const request = `curl -s -H 'token: ${token}' -d '${JSON.stringify(body)}' '${url}/api/v1/invoice/monthly'`;
  return `${request} | ${WRITE_PDF}`;
}
