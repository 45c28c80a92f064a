import type { TrustedText, UntrustedData } from "./answer-value.ts";

/** A tool cannot do what it is asked; the message is for the model. */
export class ToolError extends Error {
  override name = "ToolError";
  readonly text: TrustedText;
  /** Of the service's answer, where the service refused the call. */
  readonly status: number | null;
  /** What others may have had a part in, such as values that a message of the service names. */
  readonly detail: UntrustedData | null;

  constructor(
    text: TrustedText,
    {
      status = null,
      detail = null,
    }: { status?: number | null; detail?: UntrustedData | null } = {},
  ) {
    super(text);
    this.text = text;
    this.status = status;
    this.detail = detail;
  }
}
