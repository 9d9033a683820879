import type { Command } from 'commander';
import type { Bind } from '../command.js';

/** `svc mcp` (CL-47). */
export function defineMcp(program: Command, bind: Bind): void {
  const mcp = program
    .command('mcp')
    .description('run an MCP server on standard input and output for AI agents, with the migration files of this folder');
  bind(mcp, async () => (await import('../commands/mcp.js')).runMcp);
}
