import type * as z from "zod";

type Issue = z.core.$ZodIssue;

/**
 * Splits the issues of a refused value into those of single fields, what was sent before what is
 * missing: unknown fields, wrong ones, missing ones. A field with a misspelled name is missing too.
 * A value that fits no form of a union has the issues of the form that it is closest to.
 */
export function findFieldIssues(issues: readonly Issue[], value: unknown): Issue[] {
  const rank = (issue: Issue) => {
    if (isOfUnknownField(issue)) return 0;
    return valueAt(value, issue.path) === undefined ? 2 : 1;
  };
  return issues.flatMap((issue) => splitIssue(issue, value)).sort((a, b) => rank(a) - rank(b));
}

function splitIssue(issue: Issue, value: unknown): Issue[] {
  const { path } = issue;
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({ ...issue, keys: [key], path: [...path, key] }));
  if (issue.code !== "invalid_union") return [issue];
  const part = valueAt(value, path);
  const form = closestForm(issue.errors.filter(isOfFields), part);
  if (!form) return [issue];
  return form
    .flatMap((inner) => splitIssue(inner, part))
    .map((inner) => ({ ...inner, path: [...path, ...inner.path] }));
}

function isOfUnknownField({ code }: Issue): boolean {
  return code === "unrecognized_keys";
}

/** Whether the issues are about an object's fields, not about the type of the whole value. */
function isOfFields(form: readonly Issue[]): boolean {
  return form.every((issue) => issue.path.length > 0 || isOfUnknownField(issue));
}

/** The issues of the form that has the fewest unknown fields, then missing ones, then problems. */
function closestForm(forms: readonly (readonly Issue[])[], value: unknown) {
  const ranked = forms.map((form) => ({
    form,
    unknown: form.reduce(
      (n, one) => n + (one.code === "unrecognized_keys" ? one.keys.length : 0),
      0,
    ),
    missing: form.filter(({ path }) => valueAt(value, path) === undefined).length,
  }));
  ranked.sort(
    (a, b) => a.unknown - b.unknown || a.missing - b.missing || a.form.length - b.form.length,
  );
  return ranked[0]?.form;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((part, step) => Reflect.get(Object(part), step), value);
}
