import {
  approvalMessage,
  detailMessage,
  firstMessageOf,
  readInstant,
  readTokenFields,
  secondMessage,
  type TokenFields,
  type TokenValue,
  textField,
} from '../execution-token.js';
import type { Attempt, Evidence, EvidenceKey } from './document.js';
import { type Fault, fault } from './fault.js';
import type { EvidenceTools } from './tools.js';

const lifeMs = 300_000;
const toleranceMs = 10_000;

/** The text is the one whose digest was approved, as far as the document holds the text. */
export function contentFault({ content, request }: Evidence, tools: EvidenceTools): Fault | null {
  const { detail, policy_revision: policyRevision } = content;
  if (content.approval_digest !== request.approval_digest)
    return fault('digest_mismatch', 'the request was shown with another approval digest');
  if (detail === null) return null;
  if (tools.sha256(detail) !== content.detail_sha256) return fault('text_mismatch', 'the text does not have its SHA-256');
  const approved = {
    operation: request.operation,
    database: request.database,
    environment: request.environment,
    policyRevision,
    detail,
  };
  return tools.sha256(approvalMessage(approved)) === content.approval_digest
    ? null
    : fault('digest_mismatch', 'the text does not have the digest that was approved');
}

/** Every attempt has a token with two signatures of an execution key, for this attempt of this request. */
export function tokenFault(evidence: Evidence, tools: EvidenceTools): Fault | null {
  for (const attempt of evidence.attempts) {
    const name = `the token of attempt ${attempt.fence}`;
    const read = readTokenFields(attempt.execution_token);
    if ('why' in read) return fault('token_invalid', `${name}: ${read.why}`);
    const { fields } = read;
    const key = evidence.keys.find(({ purpose, key_id: id }) => purpose === 'execution_token' && id === fields.get('key_id'));
    if (key === undefined || !isSigned(fields, key, tools))
      return fault('token_invalid', `${name} is not signed by an execution key`);
    if (!isInSpan(fields, key)) return fault('token_invalid', `${name} is not of the time of its key`);
    const wrong = expected(evidence, attempt, tools).find(([field, value]) => fields.get(field) !== value);
    if (wrong !== undefined) return fault('token_mismatch', `${name} has another ${wrong[0]}`);
    const earlier = unresolvedFault(evidence, attempt, fields);
    if (earlier !== null) return fault('token_mismatch', `${name}: ${earlier}`);
  }
  return null;
}

function isSigned(fields: TokenFields, { public_key: key }: EvidenceKey, tools: EvidenceTools): boolean {
  const first = firstMessageOf(fields);
  return (
    tools.isSigned(key, first, textField(fields, 'signature')) &&
    tools.isSigned(key, secondMessage(fields), textField(fields, 'claim_signature'))
  );
}

/** A key signs from its creation until its overlap ends, both by the clock of the database, which each statement reads anew. */
function isInSpan(fields: TokenFields, { created_at: from, not_after: until }: EvidenceKey): boolean {
  const issued = readInstant(textField(fields, 'issued_at'));
  const expires = readInstant(textField(fields, 'expires_at'));
  const [first, last] = [readInstant(from), until === null ? null : readInstant(until)];
  if (issued === null || expires === null || first === null || (until !== null && last === null)) return false;
  return expires === issued + lifeMs && issued >= first - toleranceMs && (last === null || issued <= last + toleranceMs);
}

function expected({ request, content }: Evidence, attempt: Attempt, tools: EvidenceTools): [string, TokenValue][] {
  return [
    ['v', 2],
    ['request_id', request.id],
    ['operation', request.operation],
    ['database', request.database],
    ['environment', request.environment],
    ['requester_subject_id', request.requester],
    ['execution_id', attempt.execution_id],
    ['agent_id', attempt.agent_id],
    ['fence', attempt.fence],
    ['policy_revision', content.policy_revision],
    ['approval_digest', content.approval_digest],
    ...detailHash(request.operation, content, tools),
  ];
}

/** Of a migration it is the hash of the canonical text, which the SHA-256 of the text does not give. */
function detailHash(
  operation: string,
  { detail, detail_sha256 }: Evidence['content'],
  tools: EvidenceTools,
): [string, TokenValue][] {
  if (detail !== null) return [['detail_hash', tools.sha256(detailMessage(operation, detail))]];
  return operation.startsWith('execute_') ? [['detail_hash', detail_sha256]] : [];
}

/** The attempts that the token calls unresolved are earlier ones that were lost. */
function unresolvedFault({ attempts, events }: Evidence, attempt: Attempt, fields: TokenFields): string | null {
  const fences = textField(fields, 'unresolved_fences');
  const named = fences === '' ? [] : fences.split(',').map(Number);
  const pairs = textField(fields, 'unresolved_executions');
  const start = events.findIndex(
    ({ event }) => event.event_type === 'execution.started' && event.resource_id === attempt.execution_id,
  );
  for (const [at, fence] of named.entries()) {
    const earlier = attempts.find((each) => each.fence === fence);
    const wasLost = events
      .slice(0, start)
      .some(({ event }) => event.event_type === 'execution.lost' && event.resource_id === earlier?.execution_id);
    if (earlier === undefined || fence >= attempt.fence || !wasLost) return `attempt ${fence} was not lost before`;
    if (fields.has('unresolved_executions') && pairs.split(',')[at] !== `${fence}:${earlier.execution_id}`)
      return `attempt ${fence} is another execution`;
  }
  return null;
}
