import { z } from 'zod';
import { sha256Hex } from '../../crypto/hash.js';
import { canonicalJson } from '../../domain/canonical-json.js';
import { invalid } from '../../domain/errors.js';
import { maxBundleBytes } from '../../domain/migration/bundle.js';
import type { Operation } from '../../domain/policies.js';
import type { CreationInput } from '../../domain/request/new-request.js';
import { MAX_SELECTOR_BYTES, MAX_SHARE_WITH, normaliseShareWith } from '../../domain/selectors.js';
import { memberText } from '../../lib/json/member.js';
import { objectText } from '../../lib/json/write.js';
import { isBlank } from '../../lib/visible.js';
import { anything, boundedText, text } from '../http/fields.js';
import { operationName, pairName } from '../http/names.js';

const bytes = (text: string) => Buffer.byteLength(text);
const metadataBytes = 65_536;
const detailBytes = 100_000;
export const maxNoteBytes = 1024;
export const maxKeyBytes = 255;

/** One in which nothing can be seen counts as none. */
export const note = (about: string) =>
  boundedText(maxNoteBytes, about)
    .transform((text) => (isBlank(text) ? null : text))
    .nullish()
    .transform((text) => text ?? null);

const sharedWith = text('A selector, a user id, or `requester`.', { maxLength: MAX_SELECTOR_BYTES });

/** The body of `POST /api/requests` (requests.md section 2). */
export const creationBody = z
  .object({
    database: pairName('The name of the database.'),
    environment: pairName('The environment of the database, such as `production`.'),
    operation: operationName.default('execute_select').meta({
      fallback: 'execute_select',
      description: 'What kind of change it is. For SQL either `execute_…` will do: the gateway finds out which it is.',
    }),
    detail: text(`SQL of at most ${detailBytes} bytes, or the migrations as a bundle of at most ${maxBundleBytes} bytes.`, {
      maxLength: maxBundleBytes,
    }),
    reason: note('Why you want it. A policy may demand it; an emergency always does.'),
    idempotency_key: z
      .string()
      .refine((text) => text !== '' && bytes(text) <= maxKeyBytes, `must be 1 to ${maxKeyBytes} bytes`)
      .meta({ description: 'Makes the call safe to repeat: the same key with the same body answers the same request.' })
      .meta({ minLength: 1, maxLength: maxKeyBytes })
      .nullish(),
    metadata: anything(`Any JSON of at most ${metadataBytes} bytes, kept with the request.`).optional(),
    emergency: z.boolean().default(false).meta({ description: 'Runs at once, without approval (break-glass).' }),
    allow_ddl: z.boolean().default(false).meta({ description: 'With `emergency`: lifts blocks of the SQL review on DDL.' }),
    no_result_store: z
      .boolean()
      .default(false)
      .meta({ description: 'Streams the result to whoever waits for it, and does not store it.' }),
    require_approval: z.boolean().default(false).meta({ description: 'Requires approval, however low the risk.' }),
    share_with: z
      .array(sharedWith)
      .default([])
      .meta({ description: 'Who else may see the request and its results.', maxItems: MAX_SHARE_WITH }),
  })
  .meta({ id: 'RequestCreation', description: 'A request to be made.' });

export type CreationBody = z.output<typeof creationBody>;

/** Applies defaults and aliases, checks sizes and selectors (RQ-12). Reads `metadata` from the raw body, so no digit is lost. */
export function creationInput(body: CreationBody, bodyBytes: Uint8Array): CreationInput {
  const asked = body.operation;
  const tooLong = tooLongDetail(asked, body.detail);
  if (tooLong !== null) throw invalid(tooLong, 'body.detail');
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

/** Why a detail is refused for its length; null when it is not. */
export function tooLongDetail(operation: Operation, detail: string): string | null {
  const limit = operation === 'migrate_up' || operation === 'migrate_down' ? maxBundleBytes : detailBytes;
  return bytes(detail) > limit ? `detail must be at most ${limit} bytes` : null;
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
