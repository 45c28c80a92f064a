/** Input that the API refuses unless a flag confirms it: after the refusal, the form has a checkbox for the flag. */
import { useState } from "preact/hooks";
import type { CallError } from "../api/request.ts";
import type { FieldError, FieldValues } from "./form-values.ts";
import type { Override } from "./resource.ts";
import { network } from "./route.ts";

/** How a caller of the API confirms: the last part of the refusal. */
const ADVICE = /; [^;]*$/;

const isRefusedBy = (override: Override | undefined, problem: CallError | FieldError) =>
  override !== undefined && problem.message.includes(override.name);

/** What was refused, and whether a person insists on it. */
interface Refusal {
  values: FieldValues;
  network: string;
  isConfirmed: boolean;
}

/** @param values - what the form holds: other input has to be refused again before it is confirmed */
export function useOverride(override: Override | undefined, values: FieldValues) {
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const input = { values, network: network.value };
  const isOffered =
    override !== undefined && refusal?.values === values && refusal.network === input.network;
  const isConfirmed = isOffered && refusal.isConfirmed;
  return {
    isConfirmed,
    /** Offers the flag, if the problem names it. */
    offerFor(problem: CallError | FieldError): void {
      if (isRefusedBy(override, problem)) setRefusal({ ...input, isConfirmed: false });
    },
    /** A refusal without the advice that the checkbox replaces. */
    describe: (problem: CallError | FieldError, text: string): string =>
      isRefusedBy(override, problem) ? text.replace(ADVICE, ".") : text,
    checkbox: isOffered && (
      <label class="sure">
        <input
          type="checkbox"
          checked={isConfirmed}
          onChange={(event) => setRefusal({ ...input, isConfirmed: event.currentTarget.checked })}
        />
        {override.label}
      </label>
    ),
  };
}
