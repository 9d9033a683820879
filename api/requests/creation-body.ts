import { z } from 'zod';
import { sha256Hex } from '../../crypto/hash.js';
import { invalid } from '../../domain/errors.js';
import { canonicalJson } from '../../domain/execution-token.js';
import { isName, normaliseShareWith } from '../../domain/permissions.js';
import type { CreationInput } from '../../domain/request/creation.js';
import { OPERATIONS, type Operation } from '../../domain/workflow-policy.js';

const bytes = (text: string) => Buffer.byteLength(text);
const name = z.string().refine(isName, 'must be a name of 1 to 63 characters: a-z, then a-z, 0-9, _ or -');
const aliases = new Map<string, Operation>(['execute_query', 'execute', 'query', ''].map((alias) => [alias, 'execute_select']));
const operations: ReadonlySet<string> = new Set(OPERATIONS);
const detailBytes = { execute: 100_000, migrate: 1_048_576 } as const;

/** A note of up to 1024 bytes; only white space counts as none. */
export const note = z
  .string()
  .refine((text) => bytes(text) <= 1024, 'must be at most 1024 bytes')
  .transform((text) => (text.trim() === '' ? null : text))
  .nullish()
  .transform((text) => text ?? null);

/** The body of `POST /api/requests` (requests.md section 2). */
export const creationBody = z.object({
  database: name,
  environment: name,
  operation: z
    .string()
    .transform((text) => aliases.get(text) ?? text)
    .refine((text) => operations.has(text), `must be one of ${OPERATIONS.join(', ')}`)
    .default('execute_select'),
  detail: z.string(),
  reason: note,
  idempotency_key: z
    .string()
    .refine((text) => text !== '' && bytes(text) <= 255, 'must be 1 to 255 bytes')
    .nullish(),
  metadata: z
    .unknown()
    .refine((value) => bytes(JSON.stringify(value ?? {})) <= 65_536, 'must be at most 64 KiB as JSON text')
    .optional(),
  emergency: z.boolean().default(false),
  allow_ddl: z.boolean().default(false),
  no_result_store: z.boolean().default(false),
  share_with: z.array(z.string()).default([]),
});

export type CreationBody = z.output<typeof creationBody>;

/** Defaults and aliases applied, sizes and selectors checked (RQ-12). */
export function creationInput(body: CreationBody): CreationInput & { asked: Operation } {
  const asked = body.operation as Operation;
  const limit = asked.startsWith('migrate_') ? detailBytes.migrate : detailBytes.execute;
  if (bytes(body.detail) > limit) throw invalid(`detail must be at most ${limit} bytes`, 'body.detail');
  return {
    asked,
    database: body.database,
    environment: body.environment,
    detail: body.detail,
    reason: body.reason,
    idempotencyKey: body.idempotency_key ?? null,
    metadata: body.metadata ?? {},
    emergency: body.emergency,
    allowDdl: body.allow_ddl,
    noResultStore: body.no_result_store,
    shareWith: body.share_with,
    shareSelectors: normaliseShareWith(body.share_with),
  };
}

/** RQ-31: what makes two creations with one key the same. */
export function creationFingerprint({
  asked,
  idempotencyKey: _,
  shareWith: __,
  ...input
}: CreationInput & { asked: Operation }): string {
  return sha256Hex(canonicalJson(JSON.stringify({ ...input, operation: asked })));
}
