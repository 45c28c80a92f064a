import * as z from "zod";
import { CALL_CLASSES, type CallClass } from "../chain/provider/budget.ts";
import { openDb } from "../db/client.ts";
import { SealError } from "../db/sealed.ts";
import type { AppContext } from "../http/context.ts";
import { toIsoTimeOrNull } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import {
  countField,
  described,
  idField,
  named,
  nullableTimestampField,
} from "../http/openapi/fields.ts";
import { textParameter } from "../http/openapi/parameters.ts";
import { openProviderBudget, readProviderSources } from "./provider-sources.ts";

const EXAMPLE_SOURCE_ID = "01m80ydypnk4jnwav628wda9nd";
const EXAMPLE_TIME = "2026-11-22T06:17:27.492Z";
const [FIRST, ...OTHERS] = Object.keys(CALL_CLASSES) as [CallClass, ...CallClass[]];

export const budgetQuery = z.object({
  sourceId: described(
    textParameter(),
    "Id of a payment source or a registry source.",
    EXAMPLE_SOURCE_ID,
  ),
});

export const providerBudget = named(
  "ProviderBudget",
  "Remaining calls to a source's chain provider.",
  z.object({
    sourceId: idField("the source", EXAMPLE_SOURCE_ID),
    callsPerSecond: described(z.number(), "Calls that the budget regains each second.", 10),
    callsPerDay: described(
      z.number().nullable(),
      "Calls in a UTC day. Null: limited only by `callsPerSecond`.",
      50_000,
    ),
    usedToday: countField("Calls granted since midnight UTC.", 1234),
    stoppedUntil: nullableTimestampField(
      "Time until which the service makes no calls, since the provider refused one. Null: no pause.",
      EXAMPLE_TIME,
    ),
    Classes: described(
      z.array(
        named(
          "ProviderBudgetClass",
          "Budget of a class of calls.",
          z.object({
            class: described(
              named(
                "CallClass",
                "A class of calls to the chain provider, highest priority first.",
                z.enum([FIRST, ...OTHERS]),
              ),
              "`deadline`: urgent steps; `sync`: syncs; `wallet`: wallets and agents; `begunRead` and `read`: reads of callers; `idle`: syncs that nobody waits for.",
              "sync",
            ),
            usedToday: countField("Calls granted since midnight UTC.", 1200),
            availableNow: countField(
              "Calls that the class can make now. For reads: those of an API key without recent reads.",
              500,
            ),
            availableAt: nullableTimestampField(
              "When the class can make a call, if the others make none. Null: now.",
              EXAMPLE_TIME,
            ),
          }),
        ),
      ),
      "Classes of calls, highest priority first.",
    ),
  }),
);

/**
 * The budget of the provider key of a source.
 *
 * @throws ApiError 404; 409 when the key that it is sealed with is lost
 */
export async function readBudget(
  c: AppContext,
  sourceId: string,
): Promise<z.input<typeof providerBudget>> {
  const budget = await requireBudget(c, sourceId);
  const { classes, stoppedUntil, ...report } = await budget.report();
  return {
    sourceId,
    ...report,
    stoppedUntil: toIsoTimeOrNull(stoppedUntil),
    Classes: classes.map(({ availableAt, ...one }) => ({
      ...one,
      availableAt: toIsoTimeOrNull(availableAt),
    })),
  };
}

async function requireBudget(c: AppContext, sourceId: string) {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const [source] = await readProviderSources(core, "id = ?1", sourceId);
  if (!source) throw new ApiError(404, "sourceId: there is no such source");
  try {
    return await openProviderBudget(c.env, source);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new ApiError(
      "wrong_state",
      "sourceId: the provider key is unreadable. Enter the key again.",
    );
  }
}
