import type { MountedRouter } from "../http/document.ts";
import type { EndpointDeclaration } from "../http/router.ts";
import { createAnswerRoutes, extendDeclaration } from "./answer-fields.ts";
import { createCompatibilityRoutes } from "./routes.ts";

/**
 * Adds what clients of other services call and read, for `WIRE_NAMES=cardano`. An operation of this
 * folder replaces the one of the same method and path, in the document too.
 *
 * @param mounted - the routers of the features, in the order in which they are mounted
 * @param prefix - of the paths of the interface
 */
export function addCompatibility(mounted: MountedRouter[], prefix: string): void {
  const router = createCompatibilityRoutes();
  const replaced = new Set(router.declared.map(operationOf));
  for (const { router: feature, prefix: at } of mounted) {
    if (at !== prefix) continue;
    feature.declared = feature.declared
      .filter((declared) => !replaced.has(operationOf(declared)))
      .map((declared) => extendDeclaration(operationOf(declared), declared));
  }
  router.declared = router.declared.map((declared) =>
    extendDeclaration(operationOf(declared), declared),
  );
  mounted.unshift({ prefix, router: createAnswerRoutes() }, { prefix, router });
}

const operationOf = ({ method, path }: EndpointDeclaration) => `${method.toUpperCase()} ${path}`;
