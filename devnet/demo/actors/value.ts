export {
  add,
  encodeMultiAsset,
  encodeValue,
  fundsOf,
  sumOf,
  type Value,
} from "../../../src/chain/transaction/value.ts";
