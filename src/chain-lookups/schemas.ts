import * as z from "zod";
import {
  answerText,
  described,
  hexText,
  named,
  TX_HASH,
  WALLET_ADDRESS,
} from "../http/openapi/fields.ts";
import { bech32Address, network, unit } from "../http/openapi/ledger.ts";
import { wholeNumber } from "../http/openapi/parameters.ts";

export const balanceQuery = z.object({
  address: described(bech32Address().max(150), "The address, in bech32.", WALLET_ADDRESS),
  network,
});

export const utxoQuery = balanceQuery.extend({
  count: wholeNumber({ min: 1, max: 100, default: 10 }),
  page: described(
    wholeNumber({ min: 1, max: 100, default: 1 }),
    "Which page of that many outputs; the first is 1.",
    1,
  ),
  order: described(
    named("Order", "In which order a page is.", z.enum(["Asc", "Desc"])).default("Desc"),
    "`Desc`: the newest outputs first.",
    "Desc",
  ),
});

export const shownQuantity = named(
  "Quantity",
  "An amount of one asset, as a number.",
  z.object({
    unit,
    quantity: described(
      z.number(),
      "Minor units of `unit`: all digits are there, which not every JSON parser keeps.",
      10000000,
    ),
  }),
);

export const shownUtxo = named(
  "UnspentOutput",
  "An output of a transaction that nothing has spent.",
  z.object({
    txHash: hexText(64, "Hash of its transaction.", TX_HASH),
    outputIndex: described(z.int().min(0), "Its position in the transaction.", 0),
    address: answerText("Its address.", WALLET_ADDRESS),
    Amounts: described(z.array(shownQuantity), "What it holds."),
    dataHash: described(
      z.string().nullable(),
      "Hash of its datum, in hex; null: it has none.",
      "9e1199a988ba72ffd6e9c269cadb3b53b5f360ff99f112d9b2ee30c4d74ad88b",
    ),
    inlineDatum: described(
      z.string().nullable(),
      "Its datum, CBOR in hex; null: it has none, or only the hash.",
      "19a6aa",
    ),
    referenceScriptHash: described(
      z.string().nullable(),
      "Hash of the script that it carries, in hex; null: none.",
      "13a3efd825703a352a8f71f4e2758d08c28c564e8dfcce9f77776ad1",
    ),
    block: answerText("Hash of its block.", TX_HASH),
  }),
);
