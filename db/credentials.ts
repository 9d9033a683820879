import type { Grant } from '../domain/four-eyes.js';
import type { Queryable } from './client.js';
import { memberships } from './grants.js';

/** How a token came to be, other than by `POST /api/tokens`. `console`: the session of a browser. */
export type ProvisioningKind = 'initial' | 'bootstrap' | 'console' | null;

/** What authentication needs of a token and its owner. Instants are in milliseconds; `now` is Postgres's clock. */
export interface StoredCredential {
  id: string;
  subjectType: 'user' | 'agent';
  subjectId: string;
  tokenHash: string;
  provisioningKind: ProvisioningKind;
  scopeCeiling: string[] | null;
  /** Agent tokens only; null = every pair (HD-10). */
  agentScopes: string[] | null;
  revokedAt: number | null;
  expiresAt: number | null;
  now: number;
  /** Null for agents. */
  userStatus: 'active' | 'suspended' | 'deleted' | null;
  roles: string[];
  roleGrants: Record<string, Grant>;
  memberships: { group: string; origins: string[] | null }[];
  accountOrigins: string[] | null;
  tokenOrigins: string[] | null;
  /** Of sessions that were made from a JWT. */
  word: { groups: string[]; mappedRoles: string[]; rules: string } | null;
}

/** All tokens with this lookup prefix, each with its user and the user's groups (IM-13). A session ends with the token that it was made from (CO-11). */
export function findCredentials(db: Queryable, prefix: string): Promise<StoredCredential[]> {
  return db.query<StoredCredential>(
    `select t.id, t.subject_type as "subjectType", t.subject_id as "subjectId", t.token_hash as "tokenHash",
       t.provisioning_kind as "provisioningKind", t.scope_ceiling as "scopeCeiling", t.agent_scopes as "agentScopes",
       coalesce(t.revoked_at, p.revoked_at) as "revokedAt", t.expires_at as "expiresAt", clock_timestamp() as now,
       u.status as "userStatus", coalesce(u.roles, '{}') as roles, coalesce(u.role_grants, '{}') as "roleGrants",
       ${memberships} as memberships,
       u.created_by->'origins' as "accountOrigins", t.issued_by->'origins' as "tokenOrigins", t.provider_word as word
     from tokens t left join tokens p on p.id = t.parent_id left join users u on t.subject_type = 'user' and u.id = t.subject_id
     where t.token_prefix = $1`,
    [prefix],
  );
}
