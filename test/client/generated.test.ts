import { expect, it } from "vitest";
import * as wire from "../../client/generated/wire.ts";
import { wireValues } from "../../tools/client/wire.ts";
import { openApi } from "../support/endpoints/document.ts";

it("client/generated is that of the document: `npm run generate:client` writes it anew", () => {
  expect({ ...wire }).toEqual(wireValues(openApi));
});
