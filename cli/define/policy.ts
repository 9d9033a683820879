import { type Command, Option } from 'commander';
import type { Bind } from '../command.js';
import { policyKinds } from '../policy-kinds.js';

export function definePolicy(program: Command, bind: Bind): void {
  const policy = program.command('policy').description('policies of server.toml: what they are, which of them decide');
  const resolve = policy
    .command('resolve')
    .description('what a request on a database and environment would meet')
    .argument('<database>', 'its name')
    .argument('<environment>', 'its environment')
    .option('--operation <name>', 'only this: execute_dml; default: all six');
  bind(resolve, async () => (await import('../commands/policy-resolve.js')).resolvePolicies);
  const list = policy
    .command('list')
    .description('the policies that concern a pair of yours')
    .addOption(new Option('--kind <kind>', 'only these').choices([...policyKinds]));
  bind(list, async () => (await import('../commands/policy-list.js')).listPolicies);
}
