import { type Command, Option } from 'commander';
import { PLANS } from '../../domain/license.js';
import type { Bind } from '../command.js';
import { publicKey, wholeNumber } from './values.js';

export function defineLicense(program: Command, bind: Bind): void {
  const license = program.command('license').description('create and check licence keys, offline');
  const keygen = license
    .command('keygen')
    .description('create a key pair and print the public key')
    .requiredOption('--out <file>', 'file for the private key')
    .option('--force', 'overwrite an existing file');
  bind(keygen, async () => (await import('../commands/license.js')).makeLicenseKey);
  const issue = license
    .command('issue')
    .description('sign a licence key')
    .requiredOption('--key <file>', 'the private key')
    .addOption(new Option('--plan <name>', 'plan').choices(Object.keys(PLANS)).makeOptionMandatory())
    .requiredOption('--to <name>', 'name of the licensee')
    .requiredOption('--expires <when>', '365d, 2027-01-31 or an RFC 3339 time')
    .option('--key-id <id>', 'key id (default: lic- and 8 random characters)')
    .option('--max-users <n>', 'replaces the limit of the plan', wholeNumber)
    .option('--max-databases <n>', 'replaces the limit of the plan', wholeNumber);
  bind(issue, async () => (await import('../commands/license.js')).issueLicense);
  const show = license
    .command('show')
    .description('show what a licence key contains')
    .argument('<key>', 'the key, - for stdin')
    .option('--public-key <hex>', 'also verify signature and expiry; exit code 1 if either fails', publicKey);
  bind(show, async () => (await import('../commands/license.js')).showLicense);
}
