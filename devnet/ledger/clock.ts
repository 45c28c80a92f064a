/** A clock runs beside the wall clock, so many milliseconds ahead of it (or behind), or stands still. */
export type ClockState = { kind: "runs"; ahead: number } | { kind: "stands"; at: number };

/** The time of a chain. It never goes back. */
export class Clock {
  #state: ClockState;

  /** @param begins - epoch milliseconds */
  constructor(begins: number, kind: ClockState["kind"] = "runs") {
    this.#state = stateAt(begins, kind);
  }

  get state(): ClockState {
    return this.#state;
  }

  /** Takes up a state, such as one that a journal tells of. */
  set state(state: ClockState) {
    this.#state = state;
  }

  /** Epoch milliseconds. */
  now(): number {
    return this.#state.kind === "runs" ? Date.now() + this.#state.ahead : this.#state.at;
  }

  /** @throws RangeError when it would go back */
  moveTo(at: number): void {
    if (!(at >= this.now())) throw new RangeError("The ledger's clock only moves forward");
    this.#state = stateAt(at, this.#state.kind);
  }

  /** @throws RangeError when it would go back */
  advance(milliseconds: number): void {
    if (!(milliseconds >= 0)) throw new RangeError("The ledger's clock only moves forward");
    const state = this.#state;
    this.#state =
      state.kind === "runs"
        ? { ...state, ahead: state.ahead + milliseconds }
        : { ...state, at: state.at + milliseconds };
  }

  /** Lets it run on, or stand still, from its present time. */
  become(kind: ClockState["kind"]): void {
    if (this.#state.kind !== kind) this.#state = stateAt(this.now(), kind);
  }
}

function stateAt(at: number, kind: ClockState["kind"]): ClockState {
  return kind === "runs" ? { kind, ahead: at - Date.now() } : { kind, at };
}
