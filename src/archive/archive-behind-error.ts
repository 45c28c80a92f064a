import { DatabaseUnavailableError } from "../db/client.ts";

/** An archive lacks what the database moved there: it was set back, or it is not bound. */
export class ArchiveBehindError extends DatabaseUnavailableError {
  override name = "ArchiveBehindError";
  /** An operator has to put it forward again. */
  override readonly retryAfter = 60;
}
