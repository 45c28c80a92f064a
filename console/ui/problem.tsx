/** What went wrong, in words of the form that it is about. */
import type { CallError } from "../api/request.ts";
import { hasAccess } from "../api/session.ts";
import type { FieldError, FieldValues } from "./form-values.ts";
import { capitalize, formatUnit } from "./format.ts";
import { pickTexts } from "./path.ts";
import type { Action, Field, Remedy as RemedyTarget } from "./resource.ts";
import { pageHref, route } from "./route.ts";

/** @param text - in place of the problem's own */
export function Problem({
  problem,
  text = problem.message,
}: {
  problem: CallError | FieldError | Error;
  text?: string;
}) {
  const id = "requestId" in problem ? problem.requestId : null;
  return (
    <p class="problem" role="alert">
      {text}
      {id && (
        <small>
          {" "}
          Request <code>{String(id)}</code>
        </small>
      )}
    </p>
  );
}

/** What a refusal of the action is remedied with. */
export function Remedy({
  action: { remedy },
  problem,
  values,
  row,
}: {
  action: Action;
  problem: CallError | FieldError;
  values: FieldValues;
  row: unknown;
}) {
  if (remedy === undefined || problem.field !== remedy.field) return null;
  if (!problem.message.includes(remedy.says ?? "")) return null;
  return <RemedyLink remedy={remedy} values={values} row={row} />;
}

/** A link to where what an action lacks is made. The input stays meanwhile. */
export function RemedyLink({
  remedy: { label, tab, action, needs, passes = {}, fromRow = {} },
  values,
  row,
}: {
  remedy: RemedyTarget;
  values: FieldValues;
  row: unknown;
}) {
  if (!hasAccess(needs)) return null;
  const query = { tab, do: action, ...pickTexts(values, passes), ...pickTexts(row, fromRow) };
  return (
    <p class="tools">
      <a class="button" href={pageHref(route.value.page, "", query)}>
        {label}
      </a>
      <small>What you typed stays here.</small>
    </p>
  );
}

/** Whether a field, or a member of it, is what the problem names. */
export function isProblemOf(problem: CallError | FieldError, { name }: Field): boolean {
  const at = problem.field ?? "";
  return at === name || at.startsWith(`${name}.`) || at.startsWith(`${name}[`);
}

/** A problem in words of the form: a field has its label, not its name in the API. */
export function describeProblem(problem: CallError | FieldError, fields: readonly Field[]): string {
  const message = nameUnits(problem.message);
  const named = fields.find(({ name }) => message.startsWith(`${name}:`));
  if (named) return message.replace(named.name, named.label);
  const [, list, row, member, text] = ROW_PROBLEM.exec(message) ?? [];
  const rows = fields.find(({ name, rowFields }) => name === list && rowFields);
  const prefix = `${problem.field}: `;
  if (rows === undefined)
    return message.startsWith(prefix) ? capitalize(message.slice(prefix.length)) : message;
  const label = rows.rowFields?.find(({ name }) => name === member)?.label;
  const place = [`${capitalize(rows.rowName ?? "row")} ${Number(row) + 1}`, label];
  return `${place.filter(Boolean).join(", ")}: ${text}`;
}

/** A message with the names of its units. */
function nameUnits(message: string): string {
  return message
    .replaceAll(/\bthe unit "([0-9a-f]{56,})"/g, (_, unit: string) => formatUnit(unit))
    .replaceAll(/\bthe native coin\b/g, formatUnit(""));
}

/** A problem of one row: `RpcProviders[0].url: must be …`, or with `.0` in place of `[0]`. */
const ROW_PROBLEM = /^(\w+)(?:\[|\.)(\d+)\]?(?:\.(\w+))?: (.*)$/s;
