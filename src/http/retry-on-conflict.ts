import { violates } from "../db/client.ts";
import { ApiError } from "./errors.ts";

/** Decisions in a row while other writers change the subject. */
const MAX_ATTEMPTS = 3;

/**
 * Repeats a decision up to three times while other writers change its subject.
 *
 * @param revision - column whose violation says so
 * @param subject - of the error
 * @throws ApiError 409
 */
export async function retryOnConflict<T>(
  decide: () => Promise<T>,
  revision: `${string}.${string}`,
  subject: string,
): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await decide();
    } catch (error) {
      if (!violates(error, revision)) throw error;
      if (attempt === MAX_ATTEMPTS) throw createConflictError(subject);
    }
}

/** @param subject - field and name */
export function createConflictError(subject: string): ApiError {
  return new ApiError("changed_concurrently", `${subject} changed at the same time. Try again.`);
}
