/** The states of an escrow from left to right: those that it had, the present one, and those ahead. */
import { Check, X } from "lucide";
import { Icon } from "../../ui/icon.tsx";
import { Time } from "../../ui/value.tsx";
import type { EscrowRow } from "./sides.ts";
import { listTrackSteps } from "./track-steps.ts";

export function Track({ row, now }: { row: EscrowRow; now: number }) {
  return (
    <ol class="track" aria-label="States of the escrow">
      {listTrackSteps(row, now).map(({ label, time, phase, isBad }) => (
        <li
          key={label}
          class={isBad ? `${phase} bad` : phase}
          {...(phase === "present" && { "aria-current": "step" })}
        >
          <span class="mark">
            {phase === "past" && <Icon node={Check} size={12} />}
            {isBad && <Icon node={X} size={12} />}
          </span>
          <span class="name">{label}</span>
          <small>{time === null ? phase === "ahead" ? "ahead" : "" : <Time value={time} />}</small>
        </li>
      ))}
    </ol>
  );
}
