import { type Command, Option } from 'commander';
import { PLANS } from '../../domain/license.js';
import type { Bind } from '../command.js';
import { publicKey, wholeNumber } from './values.js';

export function defineLicense(program: Command, bind: Bind): void {
  const license = program.command('license').description('make and check licence keys; asks no server');
  const keygen = license
    .command('keygen')
    .description('make a key pair; the public key goes to stdout')
    .requiredOption('--out <file>', 'where the private key goes')
    .option('--force', 'write over a file that is there');
  bind(keygen, async () => (await import('../commands/license.js')).makeLicenseKey);
  const issue = license
    .command('issue')
    .description('sign a licence key')
    .requiredOption('--key <file>', 'the private key')
    .addOption(new Option('--plan <name>', 'what it allows').choices(Object.keys(PLANS)).makeOptionMandatory())
    .requiredOption('--to <name>', 'who gets it')
    .requiredOption('--expires <when>', '365d, 2027-01-31 or an RFC 3339 time')
    .option('--key-id <id>', 'its name; default: lic- and 8 random characters')
    .option('--max-users <n>', 'instead of the limit of the plan', wholeNumber)
    .option('--max-databases <n>', 'instead of the limit of the plan', wholeNumber);
  bind(issue, async () => (await import('../commands/license.js')).issueLicense);
  const show = license
    .command('show')
    .description('what a licence key says')
    .argument('<key>', 'the key, - for stdin')
    .option('--public-key <hex>', 'check its signature and its end too: exit 1 if one does not hold', publicKey);
  bind(show, async () => (await import('../commands/license.js')).showLicense);
}
