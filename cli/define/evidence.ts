import type { Command } from 'commander';
import type { Bind } from '../command.js';
import { moreNames, outputFile } from './values.js';

export function defineEvidence(program: Command, bind: Bind): void {
  const evidence = program
    .command('evidence')
    .description('get and verify signed documents that prove who asked, who approved and what ran');
  const get = evidence
    .command('get')
    .description('download the evidence of a request')
    .argument('<id>', 'request id, or its first characters (at least 4)')
    .requiredOption('--output <file>', 'file to write; it must not exist', outputFile)
    .option('--without-text', 'leave out the exact SQL, include its SHA-256; the audit events keep what they show of it');
  bind(get, async () => (await import('../commands/evidence.js')).getEvidence);
  const verify = evidence
    .command('verify')
    .description('verify an evidence document offline; exit code 3 if a check fails')
    .argument('<file>', 'the document')
    .option('--key <hex>', 'audit key to trust; repeatable (default: the keys in the document)', moreNames)
    .option('--checkpoint <file>', 'a signed checkpoint that you kept, to compare with');
  bind(verify, async () => (await import('../commands/evidence.js')).verifyEvidenceFile);
}
