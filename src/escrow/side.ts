/** `payment`: we hold the seller's wallet. `purchase`: we hold the buyer's. */
export type Side = "payment" | "purchase";
