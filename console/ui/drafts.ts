/** What a form holds. Input that was neither sent nor discarded stays while its key is signed in. */
import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { apiKey } from "../api/session.ts";
import type { FieldValues } from "./form-values.ts";
import type { Field } from "./resource.ts";

const drafts = new Map<string, FieldValues>();
effect(() => {
  if (apiKey.value === null) drafts.clear();
});

const hasSecret = ({ as, rowFields = [] }: Field): boolean =>
  as === "secret" || rowFields.some(hasSecret);

function isDifferent(before: FieldValues, now: FieldValues): boolean {
  return Object.keys(now).some((name) => before[name] !== now[name]);
}

/**
 * The values of a form, which begins with the input that it was left with. Secrets are not kept.
 *
 * @param name - of the form: another name is another form
 * @param initial - what the fields hold before anybody types
 */
export function useDraft(name: string, fields: readonly Field[], initial: FieldValues) {
  const [draft] = useState(() => drafts.get(name));
  const initialValues = useRef(initial);
  const [values, setValues] = useState<FieldValues>(() => ({ ...initial, ...draft }));
  const isChanged = isDifferent(initialValues.current, values);
  const left = useRef<FieldValues | null>(null);
  left.current = isChanged ? values : null;
  useEffect(() => {
    drafts.delete(name);
    return () => {
      const { current } = left;
      if (current === null || apiKey.value === null) return;
      const shown = fields.filter(
        (field) => !hasSecret(field) && current[field.name] !== undefined,
      );
      drafts.set(name, Object.fromEntries(shown.map((one) => [one.name, current[one.name] ?? ""])));
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
