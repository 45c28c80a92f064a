/** One thing that can be done: what it does, what it needs, and what became of it. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { toCallError } from "../api/live.ts";
import { type CallError, callApi } from "../api/request.ts";
import { ActionResult, secretColumnsOf } from "./action-result.tsx";
import { useDraft } from "./drafts.ts";
import { FieldInput } from "./form.tsx";
import {
  buildBody,
  describeToken,
  FieldError,
  type FieldValues,
  findProblem,
  readInitialValues,
  setValueAtPath,
  tokenOf,
} from "./form-values.ts";
import { useOverride } from "./override.tsx";
import { textAt, valueAt } from "./path.ts";
import { PrerequisiteNotice } from "./prerequisite.tsx";
import { afterPress } from "./press.ts";
import { describeProblem, isProblemOf, Problem, Remedy } from "./problem.tsx";
import type { Action, Field, FormHelper, FromRow } from "./resource.ts";
import { changeQuery, NETWORKS, network, route } from "./route.ts";
import { announce } from "./status.tsx";
import { Facts, Value } from "./value.tsx";

interface ActionDialogProps {
  action: Action;
  /** What it is done with; null: with none. */
  row: unknown;
  onClose: () => void;
  /** Called when it was done, with what the form held. */
  onDone: (values: FieldValues) => void;
}

export function ActionDialog({ action, row, onClose, onDone }: ActionDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const all = action.fields ?? [];
  const [draftName] = useState(nameDraft);
  const draft = useDraft(
    draftName,
    action.label,
    all,
    readInitialValues(all, row, route.value.query),
  );
  const { values, setValues } = draft;
  const fields = all.map((one) => resolveField(one, values, row));
  const override = useOverride(action.override, values);
  const [problem, setProblem] = useState<CallError | FieldError | null>(null);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [isSending, setSending] = useState(false);
  const [isSure, setSure] = useState(false);
  const [answer, setAnswer] = useState<unknown>(null);
  const [isLeaving, setLeaving] = useState(false);
  // What was sent last: the same again is the same request, should its answer have been lost.
  const sent = useRef({ text: "", key: "" });
  const asksNetwork = action.hasNetwork === true && row === null;
  const [hasNetwork, setHasNetwork] = useState(!asksNetwork);
  const isChanged = answer === null && draft.isChanged;
  const selectNetwork = (name: string) => {
    setHasNetwork(name !== "");
    if (name !== "") changeQuery({ network: name }, true);
  };
  useEffect(() => {
    if (!asksNetwork || action.addsNetwork) return;
    readNetworks().then(
      ([only, second]) => setHasNetwork((has) => has || (!second && only === network.value)),
      // People choose it.
      () => undefined,
    );
  }, []);

  const isGone = useRef(false);
  useLayoutEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => {
      isGone.current = true;
      // The browser gives the focus back to what opened the dialog, if that is still there.
      current?.close();
      if (document.activeElement === document.body)
        document.querySelector<HTMLElement>(".opened, #main")?.focus({ preventScroll: true });
    };
  }, []);
  // A long form shows its end or its start, and the problem may be at the other one.
  useLayoutEffect(() => {
    if (problem === null) return;
    const field = dialog.current?.querySelector<HTMLElement>('[aria-invalid="true"]');
    const place = field ?? dialog.current?.querySelector(".problem");
    place?.scrollIntoView({ block: "center" });
    // The field is described by its problem, so a screen reader says both.
    field?.focus({ preventScroll: true });
  }, [problem]);
  useLayoutEffect(() => {
    if (!isChanged) return;
    const warn = (event: Event) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isChanged]);

  const send = async () => {
    const filled = buildRequestBody({ ...action, fields }, values, row);
    const body = override.isConfirmed ? { ...filled, [action.override?.name ?? ""]: true } : filled;
    const text = JSON.stringify(body);
    if (sent.current.text !== text) sent.current = { text, key: crypto.randomUUID() };
    const { method, path } = action;
    const idempotent = method === "POST" ? { idempotencyKey: sent.current.key } : {};
    const data = await callApi<unknown>(
      method === "GET"
        ? { method, path, query: body as Record<string, string> }
        : { method, path, body, ...idempotent },
    );
    announce(`${action.label}: ${action.outcome ?? "done"}.`);
    draft.discard();
    onDone(values);
    if (action.shows) setAnswer(data);
    else onClose();
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setProblem(null);
    setSending(true);
    try {
      if (!hasNetwork) throw new FieldError(NETWORK_FIELD, "is required");
      await send();
    } catch (error) {
      const failed = error instanceof FieldError ? error : toCallError(error);
      setProblem(failed);
      override.offerFor(failed);
    } finally {
      setSending(false);
    }
  };
  const describe = (failed: CallError | FieldError) =>
    override.describe(failed, describeProblem(failed, fields));
  const problemOf = (field: Field) => {
    const { name } = field;
    if (problem && isProblemOf(problem, field)) return describe(problem);
    if (!left.has(name)) return undefined;
    const isEmpty = (values[name] ?? "") === "";
    return isEmpty ? undefined : (findProblem(field, values, row) ?? undefined);
  };

  const discard = () => {
    draft.discard();
    onClose();
  };
  const confirmation =
    action.confirmation ?? (action.isFinal ? "I know that this cannot be taken back." : undefined);
  const isSecretOpen = () => answer !== null && secretColumnsOf(action, answer).length > 0;
  const close = () => {
    if (isChanged && !isLeaving) setLeaving(true);
    else onClose();
  };
  const handleCancel = (event: Event) => {
    if (!isChanged || isLeaving) return;
    event.preventDefault();
    setLeaving(true);
  };
  const handleClose = () => {
    if (isGone.current) return;
    // A browser obeys the second Escape key. What is shown once stays, and so does unsaved input.
    if (isSecretOpen() || (isChanged && !isLeaving)) {
      dialog.current?.showModal();
      setLeaving(isChanged);
    } else onClose();
  };
  const shown = fields.filter(({ isShown }) => isShown?.(values) !== false);
  const isAtField =
    problem !== null &&
    [...(asksNetwork ? [NETWORK_FIELD] : []), ...shown].some((field) =>
      isProblemOf(problem, field),
    );
  const renderField = (field: Field) => (
    <FieldInput
      key={field.name}
      field={withTokenHint(field, values, row)}
      value={values[field.name] ?? ""}
      problem={problemOf(field)}
      onChange={(value) => {
        if (problem && isProblemOf(problem, field)) setProblem(null);
        setValues((all) => ({ ...all, [field.name]: value }));
      }}
      onDefault={(value) => draft.setDefault(field.name, value)}
      onLeave={() => afterPress(() => setLeft((all) => new Set([...all, field.name])))}
    />
  );

  return (
    <dialog
      ref={dialog}
      onCancel={handleCancel}
      onClose={handleClose}
      aria-labelledby="dialog-title"
    >
      <h2 id="dialog-title">{action.label}</h2>
      {answer === null ? (
        <form onSubmit={submit} noValidate>
          <p>{action.description}</p>
          {draft.isRestored && (
            <p class="notice" role="status">
              This is what you typed before.
            </p>
          )}
          {action.reads && <Facts facts={listReadFacts(action, row)} />}
          <PrerequisiteNotice
            action={action}
            values={values}
            row={row}
            hasLink={problem === null}
          />
          {asksNetwork && (
            <FieldInput
              field={NETWORK_FIELD}
              value={hasNetwork ? network.value : ""}
              problem={problem?.field === NETWORK_FIELD.name ? problem.message : undefined}
              onChange={(name) => {
                setProblem(null);
                selectNetwork(name);
              }}
            />
          )}
          {groupFields(shown).map(([group, some]) =>
            group === undefined ? (
              some.map(renderField)
            ) : (
              <fieldset class="group" key={group}>
                <legend>{group}</legend>
                {some.map(renderField)}
              </fieldset>
            ),
          )}
          <HelperButtons
            helpers={action.helpers?.(row) ?? []}
            onFilled={(filled) => setValues((all) => ({ ...all, ...filled }))}
            onProblem={setProblem}
          />
          {confirmation !== undefined && (
            <label class="sure">
              <input
                type="checkbox"
                checked={isSure}
                onChange={(event) => setSure(event.currentTarget.checked)}
              />
              {confirmation}
            </label>
          )}
          {problem && !isAtField && <Problem problem={problem} text={describe(problem)} />}
          {override.checkbox}
          {problem && <Remedy action={action} problem={problem} values={values} row={row} />}
          {isLeaving ? (
            <div class="buttons" role="alert">
              <span>Discard what you typed?</span>
              <button type="button" onClick={() => setLeaving(false)}>
                Keep editing
              </button>
              <button type="button" class="final" onClick={discard}>
                Discard
              </button>
            </div>
          ) : (
            <div class="buttons">
              <button type="button" onClick={close}>
                Cancel
              </button>
              <button
                type="submit"
                class={action.isFinal ? "final" : "main"}
                disabled={isSending || (confirmation !== undefined && !isSure)}
              >
                {isSending ? "Sending…" : action.label}
              </button>
            </div>
          )}
        </form>
      ) : (
        <ActionResult action={action} answer={answer} onClose={onClose} />
      )}
    </dialog>
  );
}

function listReadFacts({ reads = [] }: Action, row: unknown) {
  return reads
    .filter(({ path }) => textAt(row, path) !== "")
    .map(
      ({ heading, path, as, describe }) =>
        [
          heading,
          <Value key={path} kind={as} value={describe?.(row) ?? valueAt(row, path)} />,
        ] as const,
    );
}

/** A field as the other fields and the row make it. */
function resolveField(field: Field, values: FieldValues, row: unknown): Field {
  const { label, labelBy, knownIds, knownIdsBy } = field;
  const known = knownIdsBy?.(values, row) ?? knownIds;
  return { ...field, label: labelBy?.(values) ?? label, ...(known && { knownIds: known }) };
}

const NETWORK_FIELD: Field = {
  name: "network",
  label: "Network",
  as: "choice",
  choices: NETWORKS,
  isRequired: true,
};

/** Networks that the service has sources on. */
async function readNetworks(): Promise<string[]> {
  const { sources } = await callApi<{ sources: { network: string }[] }>({
    method: "GET",
    path: "/health",
  });
  return [...new Set(sources.map((source) => source.network))];
}

/** The form of an action on a row, by its place in the URL. */
function nameDraft(): string {
  const { page, id, query } = route.value;
  return JSON.stringify([page, id, query.tab, query.do, query.on]);
}

/** Fields in their order; those with one heading together. */
function groupFields(fields: readonly Field[]): [group: string | undefined, fields: Field[]][] {
  const groups: [string | undefined, Field[]][] = [];
  for (const field of fields) {
    const last = groups.at(-1);
    if (last && last[0] === field.group) last[1].push(field);
    else groups.push([field.group, [field]]);
  }
  return groups;
}

function buildRequestBody(action: Action, values: Record<string, string>, row: unknown): object {
  const body = buildBody(action.fields ?? [], values, row) as Record<string, unknown>;
  if (action.hasNetwork) setValueAtPath(body, "network", network.value);
  for (const [path, value] of Object.entries(action.fixed ?? {})) setValueAtPath(body, path, value);
  for (const [path, from] of Object.entries(action.fromRow ?? {}))
    setValueAtPath(body, path, readFromRow(row, from));
  return action.toBody?.(body) ?? body;
}

/** What an amount is of is told before it is typed in. */
function withTokenHint(field: Field, values: FieldValues, row: unknown): Field {
  if (field.as !== "amount" || field.hint !== undefined) return field;
  return { ...field, hint: describeToken(tokenOf(field, values, row)) };
}

function HelperButtons({
  helpers,
  onFilled,
  onProblem,
}: {
  helpers: readonly FormHelper[];
  onFilled: (values: Readonly<Record<string, string>>) => void;
  onProblem: (problem: CallError | null) => void;
}) {
  if (helpers.length === 0) return null;
  const applyHelper = async ({ fill }: FormHelper) => {
    onProblem(null);
    try {
      onFilled(await fill());
    } catch (error) {
      onProblem(toCallError(error));
    }
  };
  return (
    <div class="tools">
      {helpers.map((helper) => (
        <button key={helper.label} type="button" onClick={() => applyHelper(helper)}>
          {helper.label}
        </button>
      ))}
    </div>
  );
}

function readFromRow(row: unknown, from: FromRow): unknown {
  if (typeof from === "string") return valueAt(row, from);
  if (Array.isArray(from)) return from.map((one: FromRow) => readFromRow(row, one));
  return Object.fromEntries(
    Object.entries(from).map(([name, one]) => [name, readFromRow(row, one)]),
  );
}
