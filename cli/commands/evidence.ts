import { resolve } from 'node:path';
import { evidenceTools } from '../../crypto/evidence-tools.js';
import { type Anchor, readAnchor } from '../../domain/evidence/anchor.js';
import { storyOf } from '../../domain/evidence/story.js';
import { type EvidenceVerdict, verifyEvidence } from '../../domain/evidence/verify.js';
import { fileFault } from '../../lib/file-fault.js';
import type { JsonText } from '../../lib/json/read.js';
import { visible, visibleLines } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { migrationDetailLines } from '../output/migration-detail.js';
import type { Answer } from '../output/output.js';
import type { Style } from '../output/style.js';
import { readTextFile } from '../read-input.js';
import { resolveRequestId } from '../request-id.js';
import { writeWhole } from '../whole-file.js';

/** `svc evidence get`: writes the document byte for byte as the server signed it. */
export async function getEvidence(
  context: Context,
  [given = '']: readonly string[],
  { output, withoutText }: { output: string; withoutText?: boolean },
): Promise<Answer> {
  const id = await resolveRequestId(context, given);
  const query = withoutText ? { text: 'false' } : {};
  const reply = await context.client().call({ method: 'GET', path: ['api', 'requests', id, 'evidence'], query });
  const file = resolve(context.terminal.directory, output);
  try {
    writeWhole(file, reply.text, { replaces: false });
  } catch (error) {
    throw failure('usage', `${context.what}: ${file} cannot be written (${fileFault(error)})`);
  }
  const data = JSON.stringify({ request_id: id, file });
  const shown =
    withoutText && showsSql(reply.json()) ? 'its audit events show the SQL as the log has it ([audit] redaction)\n' : '';
  return { data, human: () => `${file}\n`, note: `${shown}check it with: svc evidence verify ${output}` };
}

/** What an event holds is hashed, so that nothing of it can be left out. Of a migration it holds no SQL. */
function showsSql(document: JsonText): boolean {
  const evidence = document.get('evidence');
  const isSql = evidence?.get('request')?.get('operation')?.string()?.startsWith('execute_') === true;
  const events = evidence?.get('events')?.items() ?? [];
  return isSql && events.some((each) => each.get('event')?.get('detail_raw')?.kind === 'string');
}

interface VerifyOptions {
  key?: string[];
  checkpoint?: string;
}

/** `svc evidence verify`: needs no server and no configuration (AU-85). */
export async function verifyEvidenceFile(
  context: Context,
  [file = '']: readonly string[],
  options: VerifyOptions,
): Promise<Answer> {
  const keys = options.key?.map((key) => key.toLowerCase()) ?? null;
  if (keys?.some((key) => !/^[0-9a-f]{64}$/.test(key)))
    throw failure('usage', `${context.what}: --key must be 64 hex characters`);
  const anchor = options.checkpoint === undefined ? null : anchorIn(context, options.checkpoint);
  const verdict = verifyEvidence(readTextFile(context, file), { trustedKeys: keys, anchor }, evidenceTools);
  const data = JSON.stringify(dataOf(verdict, keys !== null));
  const human = () => pageOf(verdict, keys !== null, context.output.style);
  const { fault } = verdict;
  if (fault !== null)
    throw new CommandFailure('integrity_violation', `${context.what}: ${fault.message} (${fault.code})`, {
      exit: 3,
      data,
      human: () => '',
    });
  const note = keys === null ? 'the keys are the document’s own: give the gateway’s audit key with --key' : 'it holds';
  return { data, human, note };
}

function anchorIn(context: Context, file: string): Anchor {
  const anchor = readAnchor(readTextFile(context, file));
  if (anchor === null) throw failure('usage', `${context.what}: ${file} is not a checkpoint`);
  return anchor;
}

function dataOf({ fault, evidence, log, kept }: EvidenceVerdict, isTrusted: boolean) {
  return {
    valid: fault === null,
    fault,
    keys: isTrusted ? 'given' : 'own',
    ...(fault === null && evidence !== null ? { request: summaryOf(evidence.request), log, kept, story: storyOf(evidence) } : {}),
  };
}

const summaryFields = ['id', 'requester', 'database', 'environment', 'operation', 'status'] as const;

const summaryOf = (request: NonNullable<EvidenceVerdict['evidence']>['request']) =>
  Object.fromEntries(summaryFields.map((field) => [field, request[field]]));

/** The page that a person reads; empty for a document that does not hold. */
function pageOf({ evidence, log, kept }: EvidenceVerdict, isTrusted: boolean, style: Style): string {
  if (evidence === null || log === null) return '';
  const story = storyOf(evidence);
  return [
    visible(story.title),
    '',
    ...textLines(evidence.request.operation, story.text, style).map((line) => (line === '' ? '' : `  ${line}`)),
    '',
    ...story.events.map(({ at, told }) => `${visible(at)}  ${visible(told)}`),
    '',
    ...story.results.map(visible),
    `log ${visible(log.origin)} of ${log.size} events, root ${log.root}`,
    ...(kept === null ? [] : [`agrees with the checkpoint of ${kept.size} events that was kept elsewhere`]),
    `signed by ${isTrusted ? 'a key given' : 'a key of the document itself'}; made ${visible(evidence.made_at)}`,
    '',
  ].join('\n');
}

/** As approvers saw it. */
function textLines(operation: string, text: string | null, style: Style): string[] {
  if (text === null) return ['(the text is not in the document)'];
  const migrations = migrationDetailLines(operation, text, { applied: null, hint: '' }, style) ?? [];
  return migrations.length > 0 ? migrations : visibleLines(text).split('\n');
}
