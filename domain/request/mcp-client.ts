/** The MCP client that made a request, by its own word (MC-44), from the metadata as JSON text; null if none did. */
export function mcpClientOf(metadata: string): string | null {
  const { source, client } = (JSON.parse(metadata) ?? {}) as Record<string, unknown>;
  if (source !== 'mcp') return null;
  return typeof client === 'string' ? client : 'unnamed';
}
