import type { Command } from 'commander';
import type { Bind } from '../command.js';

export function defineSchema(program: Command, bind: Bind): void {
  const schema = program
    .command('schema')
    .description('list the tables of a database, as an agent last saw them')
    .option('--table <name>', 'show one table in full, such as users or audit.log')
    .option('--full', 'show every table with its columns, constraints and indexes');
  bind(schema, async () => (await import('../commands/schema.js')).showSchema);
}

/** What serves databases: their list, and that of the agents. */
export function defineDatabases(program: Command, bind: Bind): void {
  const databases = program.command('databases').description('list the databases and environments that you can see');
  bind(databases, async () => (await import('../commands/databases.js')).listDatabases);
  const agents = program.command('agents').description('list agents with their status, load, version and databases');
  bind(agents, async () => (await import('../commands/agents.js')).listAgents);
}
