import { forbidden, GatewayError } from '../../../domain/errors.js';
import type { Schema } from '../../../domain/mcp-arguments.js';
import { canInDatabase } from '../../../domain/permissions.js';
import type { McpContext } from '../context.js';

export interface ToolResult {
  structured: object;
  /** For people, and models: what happened and what to do next. */
  sentence?: string;
  isError?: boolean;
}

export interface Tool {
  name: string;
  /** Says when to use it rather than another. */
  description: string;
  annotations: { readOnlyHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean; openWorldHint: false };
  inputSchema: Schema;
  outputSchema: object;
  run(context: McpContext, args: Record<string, unknown>): Promise<ToolResult>;
}

export const reads = { readOnlyHint: true, openWorldHint: false } as const;
export const text = { type: 'string' } as const;
export const maybeText = { type: ['string', 'null'] } as const;

/** An argument that the schema has checked. */
export const textArgument = (args: Record<string, unknown>, name: string): string | undefined =>
  typeof args[name] === 'string' ? args[name] : undefined;

/** Only what is given, so that the API's own defaults apply to the rest. */
export const given = <T>(values: Record<string, T | undefined>): Record<string, T> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, T] => entry[1] !== undefined));

/** MC-43. */
export function databaseOf({ call }: McpContext, args: Record<string, unknown>): string {
  const named = textArgument(args, 'database');
  if (named !== undefined) return named;
  const { shared } = call.generation;
  const first = shared.databases.find(({ name }) => canInDatabase(call.caller, 'request.view', name));
  if (first === undefined) throw forbidden('you may see no database; ask an administrator for a role');
  return first.name;
}

/** MC-43. */
export const environmentOf = ({ services }: McpContext, args: Record<string, unknown>): string =>
  textArgument(args, 'environment') ?? services.config().mcp.defaultEnvironment;

/** Whether the API refused because the policy wants a reason (MC-30). */
export const wantsReason = (error: unknown): boolean => error instanceof GatewayError && error.reason === 'reason_required';
