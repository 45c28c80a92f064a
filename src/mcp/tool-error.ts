/** A tool cannot do what it is asked; the message is for the model. */
export class ToolError extends Error {
  override name = "ToolError";
  /** Of the service's answer, where it is that which failed. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}
