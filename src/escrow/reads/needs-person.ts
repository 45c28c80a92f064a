/**
 * SQL on a row of `escrow`: something went wrong, or a person has to decide. The index
 * `escrow_needs_person` is made of it, and a query uses that only where it says exactly the same.
 */
export const NEEDS_PERSON = `(state->>'$.nextAction.errorType' IS NOT NULL OR state->>'$.nextAction.requestedAction' = 'WaitingForManualAction')`;
