/** What an action answered; a secret is not let go of before it is kept. */
import { useState } from "preact/hooks";
import { lowerFirst } from "./format.ts";
import { textAt, valueAt } from "./path.ts";
import type { Action, Column } from "./resource.ts";
import { CopyButton, Facts, Value } from "./value.tsx";

/** The members of an answer that are never shown again. What a GET showed can be read again. */
export function secretColumnsOf(
  { method, shows = [] }: Action,
  answer: unknown,
): readonly Column[] {
  return method === "GET"
    ? []
    : shows.filter(({ as, path }) => as === "secret" && textAt(answer, path) !== "");
}

export function ActionResult({
  action,
  answer,
  onClose,
}: {
  action: Action;
  answer: unknown;
  onClose: () => void;
}) {
  const [isKept, setKept] = useState(false);
  const shown = (action.shows ?? []).filter(({ path }) => textAt(answer, path) !== "");
  const secrets = secretColumnsOf(action, answer).map(({ heading: head }) => lowerFirst(head));
  return (
    <>
      {secrets.length > 0 && (
        <p role="alert">
          Keep the {secrets.join(" and the ")} in a safe place: it is shown this once.
        </p>
      )}
      <Facts
        facts={shown.map(({ heading: head, path, as }) => [
          head,
          as === "code" || as === "secret" ? (
            <>
              <output class="secret">{textAt(answer, path)}</output>{" "}
              <CopyButton text={textAt(answer, path)} name={head} />
            </>
          ) : (
            <Value kind={as} value={valueAt(answer, path)} />
          ),
        ])}
      />
      {secrets.length > 0 && (
        <label class="sure">
          <input
            type="checkbox"
            checked={isKept}
            onChange={(event) => setKept(event.currentTarget.checked)}
          />
          I have written it down.
        </label>
      )}
      <div class="buttons">
        <button
          type="button"
          class="main"
          disabled={secrets.length > 0 && !isKept}
          onClick={onClose}
        >
          Close
        </button>
      </div>
    </>
  );
}
