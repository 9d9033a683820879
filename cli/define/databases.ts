import type { Command } from 'commander';
import type { Bind } from '../command.js';

export function defineSchema(program: Command, bind: Bind): void {
  const schema = program
    .command('schema')
    .description('the tables of a database, as an agent last saw them; without -e: production, else staging, else development')
    .option('--table <name>', 'only this one, in full: users, audit.log')
    .option('--full', 'every table with columns, constraints and indexes');
  bind(schema, async () => (await import('../commands/schema.js')).showSchema);
}

/** What serves databases: their list, and that of the agents. */
export function defineDatabases(program: Command, bind: Bind): void {
  const databases = program.command('databases').description('the databases and environments you may view');
  bind(databases, async () => (await import('../commands/databases.js')).listDatabases);
  const agents = program.command('agents').description('the agents: status, load, version, databases');
  bind(agents, async () => (await import('../commands/agents.js')).listAgents);
}
