/** The chain's number in a CAIP-2 id of the namespace `eip155`. */
export function chainIdOf(caip2Id: string): number {
  return Number(caip2Id.slice("eip155:".length));
}
