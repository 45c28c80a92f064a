/** What is followed on the chain. */
import type { PageDefinition } from "../../ui/resource.ts";
import { paymentSources } from "./payment-sources.ts";
import { registrySources } from "./registry-sources.ts";
import { unitNames } from "./units.ts";

export const sourcesPage: PageDefinition = {
  name: "sources",
  title: "Sources",
  access: "Admin",
  tabs: [paymentSources, registrySources, unitNames],
};
