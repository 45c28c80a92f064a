const V2 = "Web3ChainV2";

/** Two lives and a rejected lock, in seven transactions: every kind of write a sync makes. */
export const TWO_LIVES = [
  { do: "lock", as: "a", version: V2 },
  { do: "lock", as: "b", version: V2, datum: { sellerCooldownTime: "5" } },
  { do: "submitResult", on: "a" },
  { do: "requestRefund", on: "a" },
  { do: "lock", as: "c", version: V2 },
  { do: "submitResult", on: "c" },
  { do: "withdrawDisputed", on: "a" },
];
