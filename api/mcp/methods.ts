import { callTool, listTools } from './call-tool.js';
import type { McpContext } from './context.js';
import { getPrompt, listPrompts } from './prompts.js';
import { listResources, listTemplates, readResource } from './resources.js';
import { RpcError, type RpcRequest } from './rpc.js';

type Method = (context: McpContext, params: Record<string, unknown>) => object | Promise<object>;

/** Every method but `initialize` (MC-13). */
const methods: Readonly<Record<string, Method>> = {
  ping: () => ({}),
  'tools/list': listTools,
  'tools/call': callTool,
  'resources/list': listResources,
  'resources/templates/list': listTemplates,
  'resources/read': readResource,
  'prompts/list': listPrompts,
  'prompts/get': getPrompt,
};

/** The label of a metric: only names that we know (OP-21). */
export const methodLabel = (method: string) => (labels.has(method) ? method : 'unknown');
const labels = new Set([...Object.keys(methods), 'initialize', 'notifications/initialized', 'notifications/cancelled']);

export async function perform(context: McpContext, { method, params }: RpcRequest): Promise<object> {
  const found = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (found === undefined) throw new RpcError('unknownMethod', 'unknown method', { code: 'route.not_found' });
  return found(context, params);
}
