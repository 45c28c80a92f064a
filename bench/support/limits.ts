/** What figures must not pass. The bench goes on when one does, and fails at its end. */

/** Above this load of others, nothing that was timed is compared. */
const COMPARED_UP_TO = 1.5;

export class Limits {
  readonly #passed: string[] = [];
  #timed: string[] = [];

  /** @param excess - null: the limit is kept */
  counted(excess: string | null): void {
    if (excess !== null) this.#passed.push(excess);
  }

  /** The same for a figure that depends on what else runs. */
  timed(excess: string | null): void {
    if (excess !== null) this.#timed.push(excess);
  }

  /**
   * Ends a part of the bench.
   *
   * @param others - the load of others meanwhile
   * @returns what there is to say of it
   */
  endPart(part: string, others: number): string {
    const isQuiet = others <= COMPARED_UP_TO;
    if (isQuiet) this.#passed.push(...this.#timed);
    this.#timed = [];
    const load = `${part}: load of others ${others.toFixed(1)}`;
    return isQuiet ? load : `${load}, above ${COMPARED_UP_TO}: its times are not to be compared`;
  }

  /** @throws with all limits that were passed */
  end(): void {
    if (this.#passed.length > 0) throw new Error(`passed limits:\n${this.#passed.join("\n")}`);
  }
}
