import { randomUUID } from 'node:crypto';
import { newApiToken } from '../../crypto/api-token.js';
import type { NewToken } from '../../db/tokens.js';
import type { Grant } from '../../domain/four-eyes.js';

export type InitialToken = NewToken & { scopeCeiling: string[] };

/** The ceiling is every role that the user resolves to (IM-62). */
export function newInitialToken(
  userId: string,
  scopeCeiling: string[],
  issuedBy: Grant,
): { token: string; stored: InitialToken } {
  const { token, hash, prefix } = newApiToken();
  const stored = {
    id: randomUUID(),
    subjectType: 'user' as const,
    subjectId: userId,
    hash,
    prefix,
    scopeCeiling,
    name: null,
    provisioningKind: 'initial' as const,
    expiresAt: null,
    issuedBy,
  };
  return { token, stored };
}
