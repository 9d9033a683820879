import { GatewayError } from '../../domain/errors.js';
import { BadArgument, readArguments, type Schema } from '../../domain/mcp-arguments.js';
import { isRecord } from '../../lib/record.js';
import { errorBody } from '../../runtime/http-errors.js';
import type { McpContext } from './context.js';
import { badParams, RpcError } from './rpc.js';
import { tools } from './tools/index.js';
import type { Tool, ToolResult } from './tools/tool.js';

/** Clients of older versions know neither `structuredContent` nor `outputSchema` (MC-41). */
const isStructured = ({ version }: Pick<McpContext, 'version'>) => version === '2025-06-18';

/** `tools/list` (MC-40). */
export const listTools = (context: McpContext) => ({
  tools: tools.map(({ name, description, annotations, inputSchema, outputSchema }) => ({
    name,
    description,
    annotations,
    inputSchema,
    ...(isStructured(context) ? { outputSchema } : {}),
  })),
});

/** `tools/call`. A refusal by the domain is a result that is an error, so that the model reads it (MC-42). */
export async function callTool(context: McpContext, params: Record<string, unknown>): Promise<object> {
  const { name, arguments: given = {} } = params;
  if (typeof name !== 'string') throw badParams('name must be a string', 'params.name');
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined)
    throw new RpcError('unknownMethod', 'unknown tool', { code: 'route.not_found', hint: 'see tools/list' });
  if (!isRecord(given)) throw badParams('arguments must be an object', 'params.arguments');
  const args = checkArguments(tool.inputSchema, given);
  const result = await outcomeOf(context, tool, args);
  if ('refused' in result) return { content: [{ type: 'text', text: result.refused }], isError: true };
  const { structured, sentence, isError = false } = result;
  const texts = [...(sentence === undefined ? [] : [sentence]), JSON.stringify(structured)];
  return {
    content: texts.map((text) => ({ type: 'text', text })),
    ...(isStructured(context) ? { structuredContent: structured } : {}),
    isError,
  };
}

/** The arguments of a tool with its defaults (MC-40). Throws -32602 with the place of the first bad value. */
function checkArguments(schema: Schema, given: Record<string, unknown>): Record<string, unknown> {
  try {
    return readArguments(schema, given);
  } catch (error) {
    throw error instanceof BadArgument ? badParams(error.message, error.place) : error;
  }
}

async function outcomeOf(
  context: McpContext,
  tool: Tool,
  args: Record<string, unknown>,
): Promise<ToolResult | { refused: string }> {
  try {
    return await tool.run(context, args);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, error: text, hint } = errorBody(error);
    return { refused: hint === null ? `${code}: ${text}` : `${code}: ${text}\n${hint}` };
  }
}
