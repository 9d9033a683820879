import { BadArgument, readArguments, type Schema } from '../../domain/mcp-arguments.js';
import { badParams } from './rpc.js';

/** The arguments of a tool with its defaults (MC-40). Throws -32602 with the place of the first bad value. */
export function checkArguments(schema: Schema, given: Record<string, unknown>): Record<string, unknown> {
  try {
    return readArguments(schema, given);
  } catch (error) {
    throw error instanceof BadArgument ? badParams(error.message, error.place) : error;
  }
}
