export {
  addAmount,
  encodeMultiAsset,
  encodeValue,
  sumToValue,
  toFunds,
  type Value,
} from "../../../src/chain/transaction/value.ts";
