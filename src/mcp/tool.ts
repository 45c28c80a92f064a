import type * as z from "zod";
import type { Caller } from "../http/context.ts";
import type { ToolResult } from "./tool-result.ts";
import type { ToolService } from "./tool-service.ts";

/** A tool, declared once: this validates its arguments, types its function and describes it to models. */
export interface Tool<Input extends z.ZodType = z.ZodType> {
  name: string;
  title: string;
  /** For models: what it does, when to use it, and what it costs. */
  description: string;
  input: Input;
  /** Whether it is shown to keys without +PAY: it moves no money. */
  access: "User" | "+PAY";
  /** What hosts tell people before they let it run. */
  hints: { isReadOnly: boolean; isOpenWorld: boolean };
  run(context: ToolContext, input: z.output<Input>): Promise<ToolResult>;
}

/** What a tool works with. */
export interface ToolContext {
  caller: Caller;
  service: ToolService;
}

/** Types a tool's function by its schema. */
export function defineTool<Input extends z.ZodType>(declared: Tool<Input>): Tool {
  return declared as unknown as Tool;
}
