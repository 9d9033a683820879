import type { Command } from 'commander';
import type { Bind } from '../command.js';

export function defineTrust(program: Command, bind: Bind): void {
  const trust = program
    .command('trust')
    .description('let the svc.toml of this folder send your credentials to its address')
    .argument('[url]', 'the address that svc.toml names; without it you are asked')
    .option('--list', 'what is trusted')
    .option('--remove', 'trust it no longer; without an address nothing of this folder');
  bind(trust, async () => (await import('../commands/trust.js')).trust);
}
