import { sha256Hex } from '../../crypto/hash.js';
import { outsideDatabaseWork } from '../../db/call-limit.js';
import type { Caller } from '../../domain/caller.js';
import { migrationSummary } from '../../domain/migration/summary.js';
import type { Operation } from '../../domain/policies.js';
import type { Dialect } from '../../domain/statement.js';
import { cutBytes } from '../../lib/utf8.js';
import type { Services } from '../context.js';

const fingerprintBytes = 1024;

/** A detail as audit events may show it, by `[audit] redaction` (AU-50). A migration's SQL is never shown (AU-52). */
export async function redactedTexts(services: Services, { operation, detail, dialect }: RedactedContent, caller: Caller) {
  const isMigration = operation?.startsWith('migrate_') ?? false;
  const redactedDetail =
    operation !== null && isMigration
      ? migrationSummary(operation, detail)
      : await outsideDatabaseWork(() => services.judge.redact(detail, dialect, caller.id));
  const literals = { redactedDetail, detailFingerprint: cutBytes(redactedDetail, fingerprintBytes), detailRaw: redactedDetail };
  const byMode = {
    literals: () => literals,
    full: () => ({ redactedDetail, detailFingerprint: `sha256:${sha256Hex(detail)}`, detailRaw: null }),
    none: () => ({ ...literals, detailRaw: isMigration ? redactedDetail : detail }),
  } as const;
  return byMode[services.config().audit.redaction]();
}

interface RedactedContent {
  /** Null for a text without a request. */
  operation: Operation | null;
  detail: string;
  dialect: Dialect | null;
}

/** A database's error text as audit events may show it (AU-53). */
export function auditError(services: Services, message: string | null): { errorClass: string; errorMessage: string | null } {
  const text = message ?? '';
  const errorClass = cutBytes(text.split(':', 1)[0] ?? '', 128);
  return { errorClass, errorMessage: services.config().audit.redaction === 'none' ? cutBytes(text, fingerprintBytes) : null };
}
