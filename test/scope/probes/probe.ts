import type { Deployment } from "../deployment/open-deployment.ts";
import type { Audience, Resources } from "../resources.ts";
import type { Fields } from "../service.ts";

/** A request to an operation, made of the owner's resources or of such that do not exist. */
export interface Probe {
  fields: (resources: Resources, deployment: Deployment) => Fields;
  /** For an answer without markers: whether it reveals the owner's resources, and to whom it may. */
  reveals?: { audience: Audience; isRevealed: (body: string) => boolean };
  /** The status of the answer to the owner, where it is no success. */
  status?: number;
}

/** The requests to each operation. */
export type Probes = Readonly<Record<string, readonly Probe[]>>;

/** Makes probes that have fields alone. */
export function probeWith(...fields: Probe["fields"][]): Probe[] {
  return fields.map((one) => ({ fields: one }));
}
