/** Which dialog of a page is open. */
import { useRef } from "preact/hooks";
import type { Action } from "./resource.ts";

export interface OpenedAction {
  /** The dialog's: another name is another dialog. */
  name: string;
  action: Action;
  row: unknown;
}

/**
 * The dialog that the URL names. An open dialog stays open when its action ends its own offer.
 *
 * @param found - the action, while it is offered
 * @param row - the action's row
 */
export function useOpenedAction(
  name: string,
  found: Action | undefined,
  row: unknown,
): OpenedAction | null {
  const opened = useRef<OpenedAction | null>(null);
  if (opened.current?.name !== name) opened.current = null;
  if (found) opened.current = { name, action: found, row };
  return opened.current;
}
