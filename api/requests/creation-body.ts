import { z } from 'zod';
import { sha256Hex } from '../../crypto/hash.js';
import { canonicalJson } from '../../domain/canonical-json.js';
import { invalid } from '../../domain/errors.js';
import { maxBundleBytes } from '../../domain/migration/bundle.js';
import type { CreationInput } from '../../domain/request/new-request.js';
import { normaliseShareWith } from '../../domain/selectors.js';
import { memberText } from '../../lib/json/member.js';
import { objectText } from '../../lib/json/write.js';
import { operationName, pairName } from '../http/names.js';

const bytes = (text: string) => Buffer.byteLength(text);
const metadataBytes = 65_536;
const detailBytes = 100_000;

/** A note of up to 1024 bytes. White space alone counts as none. */
export const note = z
  .string()
  .refine((text) => bytes(text) <= 1024, 'must be at most 1024 bytes')
  .transform((text) => (text.trim() === '' ? null : text))
  .nullish()
  .transform((text) => text ?? null);

/** The body of `POST /api/requests` (requests.md section 2). */
export const creationBody = z.object({
  database: pairName,
  environment: pairName,
  operation: operationName.default('execute_select'),
  detail: z.string(),
  reason: note,
  idempotency_key: z
    .string()
    .refine((text) => text !== '' && bytes(text) <= 255, 'must be 1 to 255 bytes')
    .nullish(),
  metadata: z.unknown().optional(),
  emergency: z.boolean().default(false),
  allow_ddl: z.boolean().default(false),
  no_result_store: z.boolean().default(false),
  require_approval: z.boolean().default(false),
  share_with: z.array(z.string()).default([]),
});

export type CreationBody = z.output<typeof creationBody>;

/** Applies defaults and aliases, checks sizes and selectors (RQ-12). Reads `metadata` from the raw body, so no digit is lost. */
export function creationInput(body: CreationBody, bodyBytes: Uint8Array): CreationInput {
  const asked = body.operation;
  const limit = asked === 'migrate_up' || asked === 'migrate_down' ? maxBundleBytes : detailBytes;
  if (bytes(body.detail) > limit) throw invalid(`detail must be at most ${limit} bytes`, 'body.detail');
  const metadata = body.metadata == null ? '{}' : (memberText(bodyBytes, 'metadata') ?? '{}');
  if (bytes(metadata) > metadataBytes) throw invalid('metadata must be at most 64 KiB as JSON text', 'body.metadata');
  return {
    asked,
    database: body.database,
    environment: body.environment,
    detail: body.detail,
    reason: body.reason,
    idempotencyKey: body.idempotency_key ?? null,
    metadata,
    emergency: body.emergency,
    allowDdl: body.allow_ddl,
    noResultStore: body.no_result_store,
    requireApproval: body.require_approval,
    shareWith: body.share_with,
    shareSelectors: normaliseShareWith(body.share_with),
  };
}

/** RQ-31: two creations with one key are the same if this matches. */
export function creationFingerprint({
  asked,
  idempotencyKey: _,
  shareWith: __,
  metadata,
  requireApproval,
  ...input
}: CreationInput): string {
  // Members added later count only if set, so existing keys keep their fingerprints through an upgrade.
  const content = { ...input, ...(requireApproval ? { requireApproval } : {}), operation: asked };
  return sha256Hex(canonicalJson(objectText(content, { metadata })));
}
