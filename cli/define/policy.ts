import { type Command, Option } from 'commander';
import { OPERATIONS } from '../../domain/policies.js';
import type { Bind } from '../command.js';
import { policyKinds } from '../policy-kinds.js';

export function definePolicy(program: Command, bind: Bind): void {
  const policy = program.command('policy').description('show the policies of server.toml');
  const resolve = policy
    .command('resolve')
    .description('show which policies apply to a database and environment')
    .argument('<database>', 'database name')
    .argument('<environment>', 'environment name')
    .addOption(new Option('--operation <name>', 'only this operation (default: all)').choices([...OPERATIONS]));
  bind(resolve, async () => (await import('../commands/policy-resolve.js')).resolvePolicies);
  const list = policy
    .command('list')
    .description('list the policies for the databases that you can see')
    .addOption(new Option('--kind <kind>', 'kind of policy').choices([...policyKinds]));
  bind(list, async () => (await import('../commands/policy-list.js')).listPolicies);
}
