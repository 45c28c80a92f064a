/** What a form holds. Input that was neither sent nor discarded stays while its key is signed in. */
import { effect, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { apiKey } from "../api/session.ts";
import type { FieldValues } from "./form-values.ts";
import type { Field } from "./resource.ts";

/** Input that a form was left with. */
export interface Draft {
  values: FieldValues;
  /** What the form is called. */
  label: string;
  /** The fragment of the URL that opens the form. */
  fragment: string;
}

/** By the forms' names. */
export const drafts = signal<ReadonlyMap<string, Draft>>(new Map());
effect(() => {
  if (apiKey.value === null) drafts.value = new Map();
});

function setDraft(name: string, draft: Draft | null): void {
  const next = new Map(drafts.peek());
  if (draft) next.set(name, draft);
  else next.delete(name);
  drafts.value = next;
}

const hasSecret = ({ as, rowFields = [] }: Field): boolean =>
  as === "secret" || rowFields.some(hasSecret);

function isDifferent(before: FieldValues, now: FieldValues): boolean {
  return Object.keys(now).some((name) => before[name] !== now[name]);
}

/**
 * The values of a form, which begins with the input that it was left with. Secrets are not kept.
 *
 * @param name - identifies the form
 * @param label - of the form
 * @param initial - values of the untouched form
 */
export function useDraft(
  name: string,
  label: string,
  fields: readonly Field[],
  initial: FieldValues,
) {
  const [draft] = useState(() => drafts.peek().get(name)?.values);
  const [fragment] = useState(() => location.hash);
  const initialValues = useRef(initial);
  const [values, setValues] = useState<FieldValues>(() => ({ ...initial, ...draft }));
  const isChanged = isDifferent(initialValues.current, values);
  const left = useRef<FieldValues | null>(null);
  left.current = isChanged ? values : null;
  useEffect(() => {
    setDraft(name, null);
    return () => {
      const { current } = left;
      if (current === null || apiKey.value === null) return;
      const shown = fields.filter(
        (field) => !hasSecret(field) && current[field.name] !== undefined,
      );
      const typed = shown.map((one) => [one.name, current[one.name] ?? ""]);
      setDraft(name, { values: Object.fromEntries(typed), label, fragment });
    };
  }, []);
  return {
    values,
    setValues,
    isChanged,
    isRestored: draft !== undefined,
    /** Fills in what nobody has to type. */
    setDefault(field: string, value: string): void {
      initialValues.current = { ...initialValues.current, [field]: value };
      setValues((all) => ({ ...all, [field]: value }));
    },
    /** The input was sent or is not wanted. */
    discard(): void {
      initialValues.current = values;
      left.current = null;
    },
  };
}
