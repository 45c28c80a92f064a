/** All that can be wrong at the end of a story. */

import { wrongTasks } from "../wallet-tasks.ts";
import {
  askedInVain,
  forgotten,
  foundOtherwise,
  lockedTwice,
  notEnded,
  wrongActions,
  wrongCharges,
  wrongEvents,
} from "./checks.ts";
import { settledOtherwise, unsettled } from "./disputes.ts";
import { paidOtherwise, paidToNobody } from "./payouts.ts";
import { findLostIntents } from "./requested-intents.ts";
import type { Service } from "./service.ts";

/**
 * What is wrong once everything has come to its end, by its kind.
 *
 * @param moved - hashes of the identifiers whose escrows others may have moved
 */
export async function wrongIn(service: Service, moved: ReadonlySet<string>) {
  return {
    notEnded: notEnded(service),
    lockedTwice: lockedTwice(service),
    forgotten: forgotten(service),
    foundOtherwise: await foundOtherwise(service),
    wrongActions: wrongActions(service),
    wrongCharges: wrongCharges(service),
    wrongEvents: wrongEvents(service),
    findLostIntents: findLostIntents(service.database),
    askedInVain: askedInVain(service, moved),
    unsettled: unsettled(service),
    tasks: wrongTasks(service.database),
    settledOtherwise: settledOtherwise(service),
    paidOtherwise: paidOtherwise(service),
    paidToNobody: paidToNobody(service),
  };
}
