/** What is followed on the chain. */
import type { Page } from "../../ui/resource.ts";
import { paymentSources } from "./payment-sources.ts";
import { registrySources } from "./registry-sources.ts";
import { unitNames } from "./units.ts";

export const sources: Page = {
  name: "sources",
  title: "Sources",
  access: "Admin",
  tabs: [paymentSources, registrySources, unitNames],
};
