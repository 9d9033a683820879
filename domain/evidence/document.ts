import { compactJson, readJson } from '../../lib/json/read.js';
import { byField, type SealedEvent } from '../audit/event.js';
import {
  bool,
  integer,
  list,
  Malformed,
  matching,
  nullable,
  object,
  oneOf,
  openObject,
  type Shape,
  text,
  type ValueOf,
} from './shape.js';

/** The form of evidence documents that this version writes and reads (docs/evidence.md). */
export const evidenceFormat = 'svc-evidence-v1';

const hex64 = matching(/^[0-9a-f]{64}$/, '64 lower-case hex characters');
const keyId = matching(/^[0-9a-f]{16}$/, '16 lower-case hex characters');
const signature = matching(/^[0-9a-f]{128}$/, '128 lower-case hex characters');
const hash = matching(/^[A-Za-z0-9+/]{43}=$/, 'a hash in base64');
const maybe = nullable(text);

/** As in an export; only the first of a log has no `prev_hash`. */
const event = object({
  ...byField({ text, 'text or null': maybe, integer, 'integer or null': integer }),
  prev_hash: nullable(hex64),
  event_hash: hex64,
}) satisfies Shape<SealedEvent>;

/** The request as shown, without its text. Members that are not listed here are signed, but not read. */
const request = openObject({
  id: text,
  requester: text,
  database: text,
  environment: text,
  operation: text,
  status: text,
  emergency: bool,
  require_approval: bool,
  reason: maybe,
  created_at: text,
  approval_digest: hex64,
  decision_trace: openObject({ risk: openObject({ level: text }) }),
});

const content = object({
  /** Null for a caller who may not see it. */
  detail: maybe,
  detail_sha256: hex64,
  policy_revision: text,
  approval_digest: hex64,
});

const policy = object({
  /** Canonical JSON of the copy that is stored with the request; null when an emergency matched none. */
  workflow: maybe,
  /** Canonical JSON of the execution policy of this generation; null if the generation is not stored any more. */
  execution: maybe,
  generation: integer,
});

const decision = object({
  step: integer,
  user: text,
  action: oneOf('approve', 'reject'),
  selector: text,
  comment: maybe,
  at: text,
});

const attempt = object({
  execution_id: text,
  fence: integer,
  agent_id: text,
  status: oneOf('running', 'completed', 'failed'),
  outcome: maybe,
  started_at: text,
  finished_at: maybe,
  execution_token: text,
  result: nullable(object({ sha256: hex64, bytes: integer })),
});

const key = object({
  purpose: oneOf('audit', 'execution_token'),
  key_id: keyId,
  public_key: hex64,
  status: text,
  created_at: text,
  activated_at: maybe,
  not_after: maybe,
});

const evidence = object({
  format: oneOf(evidenceFormat),
  made_at: text,
  request,
  content,
  policy,
  decisions: list(decision),
  attempts: list(attempt),
  events: list(object({ event, proof: list(hash) })),
  checkpoint: text,
  keys: list(key),
});

const document = object({
  evidence: (json, place) => ({ value: evidence(json, place), compact: compactJson(json.text) }),
  signature: object({ key_id: keyId, signature }),
});

export type Evidence = ValueOf<typeof evidence>;
export type EvidenceKey = Evidence['keys'][number];
export type Attempt = Evidence['attempts'][number];

/** A document that has the right form. Nothing of it is proven yet. */
export interface ReadEvidence {
  evidence: Evidence;
  /** The text that is signed, but for white space between tokens. */
  compact: string;
  signature: { key_id: string; signature: string };
}

/** What an audit key signs of a document: every byte outside the white space between tokens. */
export const evidenceText = (requestId: string, sha256OfCompact: string): string =>
  `audit-evidence:v1|${requestId}|${sha256OfCompact}`;

/** Reads the text of a document; throws `Malformed`. */
export function readEvidence(source: string): ReadEvidence {
  let json: ReturnType<typeof readJson>;
  try {
    json = readJson(source);
  } catch {
    throw new Malformed('the document is not JSON');
  }
  const { evidence: read, signature: signed } = document(json, 'document');
  return { evidence: read.value, compact: read.compact, signature: signed };
}
