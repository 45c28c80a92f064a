/** Stories by chance. */
import fc from "fast-check";
import { PAYMENT_SOURCE_TYPES, type PaymentSourceType } from "../../../src/chain/network.ts";
import { DEEDS, type Deed, Story } from "./story.ts";
import type { Party } from "./terms.ts";

const kinds = Object.entries(DEEDS).map(([kind, weight]) => ({
  weight,
  arbitrary: fc.constant(kind as keyof typeof DEEDS),
}));
const deed = fc.tuple(fc.oneof(...kinds), fc.nat(1023)) satisfies fc.Arbitrary<Deed>;
const funds = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 4 });

/** The contract, outputs of each wallet beside one that is enough, in coins of a million, and what happens. */
export const STORIES = fc.tuple(
  fc.constantFrom(...PAYMENT_SOURCE_TYPES),
  fc.record({ seller: funds, buyer: funds }),
  fc.array(deed, { minLength: 5, maxLength: 40, size: "max" }),
);

/** Plays a story. @returns what is wrong at its end */
export async function endOf(
  type: PaymentSourceType,
  { seller, buyer }: Record<Party, readonly number[]>,
  deeds: readonly Deed[],
  setTime: (now: number) => void,
) {
  const played = new Story(type, { seller: [300, ...seller], buyer: [300, ...buyer] }, setTime);
  for (const one of deeds) await played.do(one);
  return played.end();
}
