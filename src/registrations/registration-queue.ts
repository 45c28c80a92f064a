import type { TaskFeature } from "../wallets/spending/task-queue.ts";
import { MIN_FUNDING } from "./registration-profile.ts";
import { REGISTRATION_FEATURE } from "./states.ts";

/** Registrations, updates and deregistrations in the queue of wallets. */
export const registrationQueue: TaskFeature = {
  feature: REGISTRATION_FEATURE,
  async readNeeds(db, ids) {
    const rows = await db.all<{ id: string; funding: string | null }>(
      `SELECT id, send_funding AS funding FROM registration
       WHERE id IN (SELECT value FROM json_each(?)) AND state = 'RegistrationRequested'`,
      JSON.stringify(ids),
    );
    return new Map(
      rows.map(({ id, funding }) => {
        const asked = BigInt(funding ?? 0);
        return [id, [{ unit: "", amount: asked > MIN_FUNDING ? asked : MIN_FUNDING }]];
      }),
    );
  },
  async createFeature({ database, source: { id: sourceId, network }, vkey }) {
    const { createRegistrationFeature } = await import("./registration-feature.ts");
    return createRegistrationFeature(database, { network, vkey, sourceId });
  },
  async createPort(db) {
    const { createRegistrationPort } = await import("./registration-feature.ts");
    return createRegistrationPort(db);
  },
};
