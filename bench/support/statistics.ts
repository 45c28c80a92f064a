/**
 * The value below or at which a share of the values lies (nearest rank).
 *
 * @param share - 0 to 1
 * @throws RangeError when there are no values
 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  const found = sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)];
  if (found === undefined) throw new RangeError("there are no values");
  return found;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}
