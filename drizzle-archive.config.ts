import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: ["./src/**/archive-tables.ts"],
  out: "./migrations-archive",
});
