import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { described, named, textField, timestampField } from "../../http/openapi/fields.ts";
import {
  limitParameter,
  optionalTextParameter,
  textParameter,
  wholeNumberParameter,
} from "../../http/openapi/parameters.ts";
import { OWNER_RULES } from "../model/endpoint-rules.ts";
import { EXAMPLE_RESOURCE_URL, EXAMPLE_SOURCE_ID, paymentRequirements } from "../model/schemas.ts";
import { changeDiscovery, listCatalog, searchCatalog } from "./catalog.ts";
import { discoveryEntry } from "./discovery-entry.ts";
import { catalogFilters, sourceRecord } from "./schemas.ts";

const MAX_OFFSET = 10_000;

const { serviceName, tags, mimeType } = discoveryEntry.shape;

const catalogEntry = named(
  "X402CatalogEntry",
  "A paid resource in the catalog.",
  z.object({
    resource: textField("URL of the resource.", EXAMPLE_RESOURCE_URL),
    type: textField("Protocol of the resource.", "http"),
    x402Version: described(z.int(), "Version of x402.", 2),
    accepts: described(z.array(paymentRequirements), "What a buyer must accept one of."),
    lastUpdated: timestampField("Time of the last change."),
    description: described(
      z.string().optional(),
      "Description of the resource. Omitted: none.",
      "Tomorrow's weather",
    ),
    serviceName,
    tags,
    mimeType,
    extensions: described(
      z.record(z.string(), z.unknown()).optional(),
      "How a buyer calls the resource. Omitted: the owner does not say.",
      { bazaar: { info: { input: { type: "http", method: "GET" } } } },
    ),
  }),
);

const version = described(z.int(), "Version of x402.", 2);

/** The catalog, as the client of the x402 extension `bazaar` reads it, and what owners write there. */
export function registerCatalogRoutes(router: Router): void {
  serve(
    router,
    {
      method: "get",
      operationId: "listX402Catalog",
      path: "/x402/facilitator/discovery/resources",
      access: "none",
      scope: "public",
      tag: "x402 facilitator",
      summary: "Lists the catalog of paid resources, newest first",
      description:
        "The catalog has the resources whose owners registered them with `discovery`. Its texts are those of the owners.",
      isUnwrapped: true,
      query: z.object({
        ...catalogFilters,
        limit: limitParameter(100, 20),
        offset: wholeNumberParameter({ min: 0, max: MAX_OFFSET, default: 0 }).meta({
          description: "Number of resources to skip.",
        }),
      }),
      data: z.object({
        x402Version: version,
        items: described(z.array(catalogEntry), "The resources."),
        pagination: described(
          z.object({
            limit: described(z.int(), "Maximum number of resources.", 20),
            offset: described(z.int(), "Number of skipped resources.", 0),
            total: described(z.int(), "Number of resources on all pages.", 3),
          }),
          "The page.",
        ),
      }),
    },
    (c, { query: { limit, offset, ...filters } }) => listCatalog(c, filters, { limit, offset }),
  );

  serve(
    router,
    {
      method: "get",
      operationId: "searchX402Catalog",
      path: "/x402/facilitator/discovery/search",
      access: "none",
      scope: "public",
      tag: "x402 facilitator",
      summary: "Searches the catalog of paid resources by words",
      description:
        "Finds words in URLs, descriptions, names of services and topics. Resources with the most of the words come first.",
      isUnwrapped: true,
      query: z.object({
        query: described(textParameter(), "Words to search for.", "weather forecast"),
        ...catalogFilters,
        limit: limitParameter(100, 20),
        cursor: optionalTextParameter(
          "Ignored: an answer has no further page.",
          "01m80ydyvfm72p96eyrddq8dsz",
        ),
      }),
      data: z.object({
        x402Version: version,
        resources: described(z.array(catalogEntry), "The resources."),
        partialResults: described(z.boolean(), "Whether there are more resources.", false),
        pagination: described(z.null(), "Always null.", null),
      }),
    },
    (c, { query: { query, limit, cursor: _, ...filters } }) =>
      searchCatalog(c, query, filters, limit),
  );

  serve(
    router,
    {
      ...OWNER_RULES,
      method: "patch",
      operationId: "updateX402PaymentSource",
      path: "/x402/payment-sources",
      summary: "Puts a paid resource into the public catalog, or takes it out",
      description:
        "A resource in the catalog has a fixed price and an https URL with a public host name.",
      body: z.object({
        id: described(textParameter(), "Id of the resource.", EXAMPLE_SOURCE_ID),
        discovery: described(
          discoveryEntry.nullable(),
          "What the catalog says of the resource. Null: the resource leaves the catalog.",
        ),
      }),
      data: sourceRecord,
      errors: { 404: "There is no such payment source." },
    },
    (c, { body }) => changeDiscovery(c, body, Date.now()),
  );
}
