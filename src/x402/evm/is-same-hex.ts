/** Whether hex texts, such as addresses, say the same. Upper and lower case differ in no byte. */
export function isSameHex(one: string | null | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}
