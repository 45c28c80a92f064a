const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * The wallet that settles an authorization (rendezvous hashing). Each wallet settles an equal share.
 * A wallet that is added or removed changes the choice for its own share alone.
 *
 * @param claim - see `toAuthorizationKey`
 */
export function pickFacilitator<Wallet extends { id: string }>(
  wallets: readonly [Wallet, ...Wallet[]],
  claim: string,
): Wallet {
  const scored = wallets.map((wallet) => ({ wallet, score: hash(`${claim} ${wallet.id}`) }));
  return scored.reduce((best, one) => (one.score > best.score ? one : best)).wallet;
}

/** FNV-1a of 32 bits, with the last mixing steps of MurmurHash3: FNV alone hardly changes the high bits. */
function hash(text: string): number {
  let value = FNV_OFFSET;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, FNV_PRIME);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
