import { newId } from "../../db/id.ts";
import type { Intent, Step } from "../model/intent.ts";

/**
 * The intent of a step that is requested now.
 *
 * @param by - id of the API key, or `AUTOMATIC_REQUESTER`
 * @param now - epoch milliseconds
 */
export function createIntent(
  step: Step,
  by: string,
  now: number,
  resultHash: string | null = null,
): Intent {
  return { id: newId(now), step, resultHash, by, since: now };
}
