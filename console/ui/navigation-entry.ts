import type { ComponentType } from "preact";
import type { Access } from "../api/session.ts";

/** A page of the console. */
export interface NavigationEntry {
  name: string;
  title: string;
  access: Access;
  Component: ComponentType;
  /** It is reached from other pages. */
  isHidden?: boolean;
}
