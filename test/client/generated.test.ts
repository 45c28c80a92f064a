import { expect, it } from "vitest";
import * as wire from "../../client/generated/wire.ts";
import { wireValues } from "../../tools/client/wire.ts";
import { openApi } from "../support/endpoints/document.ts";

it("client/generated follows from the OpenAPI document; `npm run generate:client` updates it", () => {
  expect({ ...wire }).toEqual(wireValues(openApi));
});
