/** Where progress is written to, such as `process.stdout`. */
export interface ProgressOutput {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows what a program does before it is ready. */
export interface Progress {
  /** @param phase - a text such as `Building the Worker` */
  begin(phase: string): void;
  /** Removes the line of a terminal, before something else is printed. */
  end(): void;
}

const CLEAR_LINE = "\r\u001b[K";

/** Rewrites one line of a terminal, and prints a line for each phase elsewhere. */
export function createProgress(output: ProgressOutput): Progress {
  return {
    begin: (phase) => output.write(output.isTTY ? `${CLEAR_LINE}${phase} …` : `${phase} …\n`),
    end: () => output.isTTY && output.write(CLEAR_LINE),
  };
}
