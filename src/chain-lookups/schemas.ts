import * as z from "zod";
import { bech32AddressParameter, network, unit } from "../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_TX_HASH,
  EXAMPLE_WALLET_ADDRESS,
  hexField,
  named,
  nullableTextField,
  textField,
} from "../http/openapi/fields.ts";
import { wholeNumberParameter } from "../http/openapi/parameters.ts";

export const balanceQuery = z.object({
  address: described(
    bech32AddressParameter().max(150),
    "The address, in bech32.",
    EXAMPLE_WALLET_ADDRESS,
  ),
  network,
});

export const utxoQuery = balanceQuery.extend({
  count: wholeNumberParameter({ min: 1, max: 100, default: 10 }),
  page: described(
    wholeNumberParameter({ min: 1, max: 100, default: 1 }),
    "Number of the page, from 1.",
    1,
  ),
  order: described(
    named("Order", "Order of a page.", z.enum(["Asc", "Desc"])).default("Desc"),
    "`Desc`: the newest outputs first.",
    "Desc",
  ),
});

export const quantityResponse = named(
  "Quantity",
  "An amount of one asset, as a number.",
  z.object({
    unit,
    quantity: described(
      z.number(),
      "Minor units of `unit`, with all digits, which some JSON parsers round.",
      10000000,
    ),
  }),
);

export const utxoResponse = named(
  "UnspentOutput",
  "An unspent output of a transaction.",
  z.object({
    txHash: hexField(64, "Hash of the transaction.", EXAMPLE_TX_HASH),
    outputIndex: described(z.int().min(0), "Position of the output in the transaction.", 0),
    address: textField("Address of the output.", EXAMPLE_WALLET_ADDRESS),
    Amounts: described(z.array(quantityResponse), "Funds in the output."),
    dataHash: nullableTextField(
      "Hash of the datum, in hex. Null: no datum.",
      "9e1199a988ba72ffd6e9c269cadb3b53b5f360ff99f112d9b2ee30c4d74ad88b",
    ),
    inlineDatum: nullableTextField(
      "The datum, as CBOR in hex. Null: none, or only its hash.",
      "19a6aa",
    ),
    referenceScriptHash: nullableTextField(
      "Hash of the reference script, in hex. Null: none.",
      "13a3efd825703a352a8f71f4e2758d08c28c564e8dfcce9f77776ad1",
    ),
    block: textField("Hash of the block.", EXAMPLE_TX_HASH),
  }),
);
