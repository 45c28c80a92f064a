/** One thing that can be done: what it does, what it needs, and what became of it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { toCallError } from "../api/live.ts";
import { type CallError, callApi } from "../api/request.ts";
import { ActionResult, secretColumnsOf } from "./action-result.tsx";
import { buildBody, FieldError, FieldInput, readInitialValues, setValueAtPath } from "./form.tsx";
import { valueAt } from "./path.ts";
import type { Action, FormHelper, FromRow } from "./resource.ts";
import { network, route } from "./route.ts";
import { announce } from "./status.tsx";

interface ActionDialogProps {
  action: Action;
  /** What it is done with; null: with none. */
  row: unknown;
  onClose: () => void;
  /** Called when it was done. */
  onDone: () => void;
}

export function ActionDialog({ action, row, onClose, onDone }: ActionDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const fields = action.fields ?? [];
  const [values, setValues] = useState(() => readInitialValues(fields, row, route.value.query));
  const [problem, setProblem] = useState<CallError | FieldError | null>(null);
  const [isSending, setSending] = useState(false);
  const [isSure, setSure] = useState(false);
  const [answer, setAnswer] = useState<unknown>(null);
  // What was sent last: the same again is the same request, should its answer have been lost.
  const sent = useRef({ text: "", key: "" });

  useEffect(() => {
    dialog.current?.showModal();
  }, []);

  const send = async () => {
    const body = buildRequestBody(action, values, row);
    const text = JSON.stringify(body);
    if (sent.current.text !== text) sent.current = { text, key: crypto.randomUUID() };
    const { method, path } = action;
    const idempotent = method === "POST" ? { idempotencyKey: sent.current.key } : {};
    const data = await callApi<unknown>(
      method === "GET"
        ? { method, path, query: body as Record<string, string> }
        : { method, path, body, ...idempotent },
    );
    announce(`${action.label}: done.`);
    onDone();
    if (action.shows) setAnswer(data);
    else onClose();
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setProblem(null);
    setSending(true);
    try {
      await send();
    } catch (error) {
      setProblem(error instanceof FieldError ? error : toCallError(error));
    } finally {
      setSending(false);
    }
  };
  const problemOf = (name: string) =>
    problem?.field === name || problem?.field === name.split(".")[0] ? problem?.message : undefined;

  const handleClose = () => {
    // What is shown this once is not lost by the Escape key, which a browser obeys the second time.
    if (answer !== null && secretColumnsOf(action, answer).length > 0) dialog.current?.showModal();
    else onClose();
  };

  return (
    <dialog ref={dialog} onClose={handleClose} aria-labelledby="dialog-title">
      <h2 id="dialog-title">{action.label}</h2>
      {answer === null ? (
        <form onSubmit={submit} noValidate>
          <p>{action.description}</p>
          {fields.map((field) => (
            <FieldInput
              key={field.name}
              field={field}
              value={values[field.name] ?? ""}
              problem={problemOf(field.name)}
              onChange={(value) => setValues((all) => ({ ...all, [field.name]: value }))}
            />
          ))}
          <HelperButtons
            helpers={action.helpers?.(row) ?? []}
            onFilled={(filled) => setValues((all) => ({ ...all, ...filled }))}
            onProblem={setProblem}
          />
          {action.isFinal && (
            <label class="sure">
              <input
                type="checkbox"
                checked={isSure}
                onChange={(event) => setSure(event.currentTarget.checked)}
              />
              I know that this cannot be taken back.
            </label>
          )}
          {problem && <Problem problem={problem} />}
          <div class="buttons">
            <button type="button" onClick={onClose}>
              Cancel
            </button>
            <button
              type="submit"
              class={action.isFinal ? "final" : "main"}
              disabled={isSending || (action.isFinal === true && !isSure)}
            >
              {isSending ? "Sending…" : action.label}
            </button>
          </div>
        </form>
      ) : (
        <ActionResult action={action} answer={answer} onClose={onClose} />
      )}
    </dialog>
  );
}

function buildRequestBody(action: Action, values: Record<string, string>, row: unknown): object {
  const body = buildBody(action.fields ?? [], values, row) as Record<string, unknown>;
  if (action.hasNetwork) setValueAtPath(body, "network", network.value);
  for (const [path, value] of Object.entries(action.fixed ?? {})) setValueAtPath(body, path, value);
  for (const [path, from] of Object.entries(action.fromRow ?? {}))
    setValueAtPath(body, path, readFromRow(row, from));
  return action.toBody?.(body) ?? body;
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

export function Problem({ problem }: { problem: CallError | FieldError | Error }) {
  const id = "requestId" in problem ? problem.requestId : null;
  return (
    <p class="problem" role="alert">
      {problem.message}
      {id && (
        <small>
          {" "}
          Request <code>{String(id)}</code>
        </small>
      )}
    </p>
  );
}
