import type { ComponentType } from "preact";
import type { Access } from "../api/session.ts";
import type { IconNode } from "./icon.tsx";

/** A page of the console. */
export interface NavigationEntry {
  name: string;
  title: string;
  access: Access;
  Component: ComponentType;
  icon?: IconNode;
  /** It is reached from other pages. */
  isHidden?: boolean;
}

/** Pages that the navigation shows together. */
export interface NavigationGroup {
  /** Undefined: the group has no heading. */
  title?: string;
  entries: readonly NavigationEntry[];
}
