import { sha256Hex } from '../../crypto/hash.js';
import { outsideDatabaseWork } from '../../db/call-limit.js';
import { errorClass } from '../../domain/audit/error-class.js';
import type { Caller } from '../../domain/caller.js';
import { migrationSummary } from '../../domain/migration/summary.js';
import type { Operation } from '../../domain/policies.js';
import type { Dialect } from '../../domain/statement.js';
import { cutBytes } from '../../lib/utf8.js';
import type { Services } from '../context.js';

const fingerprintBytes = 1024;

const isMigration = (operation: Operation | null) => operation?.startsWith('migrate_') ?? false;

/** The redacted form of a text that no verdict carries (AU-51). A migration's SQL is never shown (AU-52). */
export async function redactDetail(
  services: Services,
  { operation, detail, dialect }: { operation: Operation | null; detail: string; dialect: Dialect | null },
  caller: Caller,
): Promise<string> {
  if (operation !== null && isMigration(operation)) return migrationSummary(operation, detail);
  return outsideDatabaseWork(() => services.classifier.redact(detail, dialect, caller.id));
}

/** A detail as audit events may show it, by `[audit] redaction` (AU-50). */
export function auditTexts(
  services: Services,
  { operation, detail, redactedDetail }: { operation: Operation | null; detail: string; redactedDetail: string },
): { detailFingerprint: string; detailRaw: string | null } {
  const literals = { detailFingerprint: cutBytes(redactedDetail, fingerprintBytes), detailRaw: redactedDetail };
  const byMode = {
    literals: () => literals,
    full: () => ({ detailFingerprint: `sha256:${sha256Hex(detail)}`, detailRaw: null }),
    none: () => ({ ...literals, detailRaw: isMigration(operation) ? redactedDetail : detail }),
  } as const;
  return byMode[services.config().audit.redaction]();
}

/** A database's error text as audit events may show it (AU-53). */
export function auditError(services: Services, message: string | null): { errorClass: string; errorMessage: string | null } {
  const text = message ?? '';
  return {
    errorClass: errorClass(text),
    errorMessage: services.config().audit.redaction === 'none' ? cutBytes(text, fingerprintBytes) : null,
  };
}
