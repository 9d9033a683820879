import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import type { Answer } from '../output/output.js';
import { readTextFile } from '../read-input.js';
import type { AuditVerifyOptions } from './audit-verify-file.js';

/** A large log takes minutes; the server sends a blank every few seconds, so only silence ends the wait. */
const silenceMs = 60_000;

/** `svc audit verify` (CL-32), or of a file alone (CL-33). */
export async function verifyAudit(context: Context, _: readonly string[], options: AuditVerifyOptions): Promise<Answer> {
  if (options.file !== undefined) {
    const { verifyExport } = await import('./audit-verify-file.js');
    return verifyExport(context, options.file, options);
  }
  if (options.publicKey !== undefined) throw failure('usage', '--public-key needs --file');
  const { anchor, checkpoint } = options;
  const tree = checkpoint === undefined ? null : await treeOf(context, checkpoint);
  const text = await askServer(context, {
    anchor_seq: anchor?.seq,
    anchor_hash: anchor?.hash,
    anchor_size: tree?.size,
    anchor_root: tree?.root,
  });
  const { readJson } = await import('../../lib/json/read.js');
  const answer = readJson(text);
  if (answer.get('valid')?.text !== 'true') throw broken(context.what, answer, text);
  warnOfUnsealed(context, answer);
  return {
    data: text,
    human: () => soundText(answer),
    note: 'keep the anchor outside the gateway: with --anchor it shows whether an older copy took its place',
  };
}

/**
 * The size and the root in base64 that a kept checkpoint names. Its signature is not checked: the file is believed, and a wrong one finds no log that
 * begins with it.
 */
async function treeOf(context: Context, file: string): Promise<{ size: string; root: string }> {
  const { readAnchor } = await import('../../domain/evidence/anchor.js');
  const anchor = readAnchor(readTextFile(context, file));
  const [, size, root] = /^[^\n]+\n([1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\n/.exec(anchor?.note ?? '') ?? [];
  if (size === undefined || root === undefined) throw failure('usage', `${context.what}: ${file} is not a checkpoint`);
  return { size, root };
}

/** An event waits for its seal for a second. Until then, whoever can write the database can change it, and the log is valid all the same. */
const unsealedMs = 60_000;

function warnOfUnsealed({ output }: Context, answer: JsonText): void {
  const oldest = answer.get('oldest_unsealed_at')?.string() ?? null;
  if (oldest === null || Date.now() - Date.parse(oldest) < unsealedMs) return;
  output.warn(`events wait for their seal since ${oldest}, and nothing protects them yet: see the logs of the workers`);
}

async function askServer(context: Context, query: Record<string, string | number | undefined>): Promise<string> {
  const parts: Uint8Array[] = [];
  const reply = await context.client().call({
    method: 'GET',
    path: ['api', 'audit', 'verify'],
    query,
    timeoutMs: silenceMs,
    onPart: async (part) => void parts.push(part),
  });
  return reply.text + Buffer.concat(parts).toString('utf8').trim();
}

function soundText(answer: JsonText): string {
  const text = (key: string) => visible(answer.get(key)?.string() ?? answer.get(key)?.text ?? '');
  const rows = [
    ['log', 'valid'],
    ['sealed events', text('sealed')],
    ['not sealed yet', text('unsealed')],
    ['checkpoints', text('checkpoints_verified')],
    ['anchor to keep', `${text('head_seq')}:${text('head_hash')}`],
  ];
  return rows.map(([label, value]) => `${label!.padEnd(16)}${value}\n`).join('');
}

function broken(what: string, answer: JsonText, data: string): CommandFailure {
  const text = (key: string) => visible(answer.get(key)?.string() ?? answer.get(key)?.text ?? 'null');
  const place = `first_broken_seq ${text('first_broken_seq')}, first_broken_id ${text('first_broken_id')}`;
  return new CommandFailure('integrity_violation', `${what}: the log is not valid: ${text('reason')} at ${place}`, {
    data,
    hint: 'docs/audit.md explains each reason and what to do',
    exit: 1,
  });
}
