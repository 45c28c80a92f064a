import { readFileSync } from "node:fs";
import starlight from "@astrojs/starlight";
import { defineConfig } from "astro/config";
import starlightOpenApi, { openAPISidebarGroups } from "starlight-openapi";

/** Written by `build.ts`, from docs/llms.txt. */
const groups = JSON.parse(readFileSync(new URL("generated/sidebar.json", import.meta.url), "utf8"));

export default defineConfig({
  base: "/docs",
  // Each page is a file that the platform serves without its extension.
  build: { format: "preserve", assets: "assets" },
  trailingSlash: "never",
  integrations: [
    starlight({
      title: "Agent payment service",
      pagination: false,
      credits: false,
      disable404Route: true,
      customCss: ["./src/site.css"],
      plugins: [
        starlightOpenApi([
          {
            base: "api",
            schema: "generated/openapi.json",
            sidebar: { label: "API" },
          },
        ]),
      ],
      sidebar: [...groups, ...openAPISidebarGroups],
    }),
  ],
});
