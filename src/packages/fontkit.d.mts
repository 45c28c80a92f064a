export * from "fontkit";
