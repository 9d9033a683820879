import { sha256Hex } from '../../crypto/hash.js';
import { inclusionRuns } from '../../crypto/tree-proof.js';
import { type EvidenceAttempt, listEvidenceAttempts } from '../../db/evidence.js';
import { findGeneration } from '../../db/generations.js';
import { iso, isoOrNull } from '../../db/row-types.js';
import type { FoundShown } from '../../db/shown-request.js';
import { listAllKeys, type SigningKeyRow } from '../../db/signing-keys.js';
import type { SealedEvent } from '../../domain/audit/event.js';
import { plainEvent } from '../../domain/audit/export-format.js';
import type { Caller } from '../../domain/caller.js';
import { canonicalJson } from '../../domain/canonical-json.js';
import { refusal } from '../../domain/errors.js';
import { evidenceFormat } from '../../domain/evidence/document.js';
import type { Decision, StoredRequest } from '../../domain/request/types.js';
import { DEFAULT_EXECUTION_POLICY, matchPolicy } from '../../domain/workflow-policy.js';
import { compactJson } from '../../lib/json/read.js';
import { arrayText, objectText } from '../../lib/json/write.js';
import { proofsOf, signedNote, signedTree } from '../audit/tree.js';
import type { Services } from '../context.js';
import { shownWithoutText } from './show.js';

/** Everything that evidence states, as JSON with one line per event, and the same without white space between tokens. */
export async function evidenceBody(
  { caller, withText }: { caller: Caller; withText: boolean },
  services: Services,
  found: FoundShown,
  events: readonly SealedEvent[],
): Promise<{ body: string; compact: string }> {
  const { database } = services;
  const { request } = found;
  const tree = await signedTree(database, services);
  if (events.some(({ seq }) => seq > tree.size))
    throw refusal('service.unavailable', 'the audit log cannot be proven', 'verify it');
  const proofs = await proofsOf(
    database,
    events.map(({ seq }) => inclusionRuns(seq - 1, tree.size)),
  );
  const proven = events.map((event, at) => `\n${JSON.stringify({ event: plainEvent(event), proof: proofs[at] })}`);
  const attempts = await listEvidenceAttempts(database, request.id);
  const stated = {
    format: evidenceFormat,
    made_at: iso(found.now),
    content: contentOf(request, withText),
    policy: await policyOf(services, request),
    decisions: request.decisions.map(decisionOf),
    attempts: attempts.map(attemptOf),
    checkpoint: await signedNote(tree, database, services),
    keys: await keysOf(services),
  };
  const body = objectText(stated, { request: await shownWithoutText(caller, services, found), events: arrayText(proven) });
  return { body, compact: compactJson(body) };
}

const contentOf = (request: StoredRequest, withText: boolean) => ({
  detail: withText ? request.detail : null,
  detail_sha256: sha256Hex(request.detail),
  policy_revision: request.policyRevision,
  approval_digest: request.approvalDigest,
});

const decisionOf = ({ step, userId, action, selector, comment, at }: Decision) => ({
  step,
  user: userId,
  action,
  selector,
  comment,
  at: iso(at),
});

/** The policy copy that the request was judged by, and the execution policy of the generation that it was made under. */
async function policyOf({ database }: Services, request: StoredRequest) {
  const generation = Number(/^r(\d+)$/.exec(request.policyRevision)?.[1] ?? 0);
  const stored = await findGeneration(database, generation);
  const execution = stored && (matchPolicy(stored.content.executionPolicies, request) ?? DEFAULT_EXECUTION_POLICY);
  return {
    workflow: request.policy === null ? null : canonicalJson(JSON.stringify(request.policy)),
    execution: execution === undefined ? null : canonicalJson(JSON.stringify(execution)),
    generation,
  };
}

const attemptOf = (attempt: EvidenceAttempt) => ({
  execution_id: attempt.id,
  fence: attempt.fence,
  agent_id: attempt.agentId,
  status: attempt.status,
  outcome: attempt.outcome,
  started_at: iso(attempt.createdAt),
  finished_at: isoOrNull(attempt.finishedAt),
  execution_token: (JSON.parse(attempt.claimAnswer) as { execution_token: string }).execution_token,
  result: attempt.resultSha256 === null ? null : { sha256: attempt.resultSha256, bytes: attempt.resultBytes },
});

/** Only keys that open under the secret key: whoever can write the database can add rows of keys, but none of these. */
async function keysOf({ database, auditKeys, signingKeys }: Services) {
  const { trusted } = await auditKeys(database);
  const audit = (await listAllKeys(database, 'audit')).flatMap((row) => {
    const publicKey = trusted.get(row.keyId);
    return publicKey === undefined ? [] : [keyOf('audit', { ...row, publicKey })];
  });
  return [...audit, ...(await signingKeys.everyRow()).map((row) => keyOf('execution_token', row))];
}

const keyOf = (purpose: string, row: Omit<SigningKeyRow, 'sealedSeed'>) => ({
  purpose,
  key_id: row.keyId,
  public_key: row.publicKey,
  status: row.status,
  created_at: iso(row.createdAt),
  activated_at: isoOrNull(row.activatedAt),
  not_after: isoOrNull(row.notAfter),
});
