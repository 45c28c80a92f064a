export * from "pdf-lib";
