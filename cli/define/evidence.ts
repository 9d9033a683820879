import type { Command } from 'commander';
import type { Bind } from '../command.js';
import { moreNames } from './values.js';

export function defineEvidence(program: Command, bind: Bind): void {
  const evidence = program.command('evidence').description('documents that prove who asked, who agreed and what ran');
  const get = evidence
    .command('get')
    .description('fetch the evidence of a request')
    .argument('<id>', 'request id, or at least 4 characters of its beginning')
    .requiredOption('--output <file>', 'where to write it; nothing is overwritten')
    .option('--without-text', 'only the SHA-256 of the text');
  bind(get, async () => (await import('../commands/evidence.js')).getEvidence);
  const verify = evidence
    .command('verify')
    .description('check a document without any server; exit 3 with the first thing that does not hold')
    .argument('<file>', 'the document')
    .option('--key <hex>', 'an audit key to trust; may be repeated; default: the document’s own', moreNames)
    .option('--checkpoint <file>', 'a checkpoint of the log that was kept elsewhere');
  bind(verify, async () => (await import('../commands/evidence.js')).verifyEvidenceFile);
}
