import type { Grant } from '../domain/four-eyes.js';
import type { Queryable, Transaction } from './client.js';
import type { ProvisioningKind, StoredCredential } from './credentials.js';
import { granted } from './grants.js';
import { topic } from './notifications.js';
import type { Parameters } from './parameters.js';
import { dropOldTokens } from './purge.js';
import { iso } from './row-types.js';

export interface TokenRow {
  id: string;
  subjectType: 'user' | 'agent';
  subjectId: string;
  tokenPrefix: string;
  scopeCeiling: string[] | null;
  agentScopes: string[] | null;
  name: string | null;
  provisioningKind: ProvisioningKind;
  word: StoredCredential['word'];
  expiresAt: number | null;
  revokedAt: number | null;
  createdAt: number;
  now: number;
}

const columns = `id, subject_type as "subjectType", subject_id as "subjectId", token_prefix as "tokenPrefix", scope_ceiling as "scopeCeiling",
  agent_scopes as "agentScopes", name, provisioning_kind as "provisioningKind", provider_word as word, expires_at as "expiresAt",
  coalesce(revoked_at, (select p.revoked_at from tokens p where p.id = tokens.parent_id)) as "revokedAt", created_at as "createdAt", clock_timestamp() as now`;

export function listTokens(db: Queryable, ofUser: string | null): Promise<TokenRow[]> {
  const own = ofUser === null ? '' : `where subject_type = 'user' and subject_id = $1`;
  return db.query<TokenRow>(
    `select ${columns} from tokens ${own} order by created_at desc, id desc`,
    ofUser === null ? [] : [ofUser],
  );
}

/** `id` must be well-formed. */
export async function findToken(db: Queryable, id: string): Promise<TokenRow | undefined> {
  const [row] = await db.query<TokenRow>(`select ${columns} from tokens where id = $1`, [id]);
  return row;
}

export interface NewToken {
  id: string;
  subjectType: 'user' | 'agent';
  subjectId: string;
  hash: string;
  prefix: string;
  scopeCeiling: readonly string[] | null;
  /** Agent tokens only; every pair if absent. */
  agentScopes?: readonly string[] | null;
  name: string | null;
  provisioningKind: ProvisioningKind;
  expiresAt: number | null;
  issuedBy: Grant;
  /** Of a session: the token that it was made from, or what the JWT said. */
  parentId?: string | null;
  word?: StoredCredential['word'];
}

export async function insertToken(tx: Transaction, token: NewToken): Promise<void> {
  dropOldTokens(tx, token.subjectType, token.subjectId);
  await tx.query(
    `insert into tokens (id, subject_type, subject_id, token_hash, token_prefix, scope_ceiling, name, provisioning_kind, expires_at, issued_by, agent_scopes,
       parent_id, provider_word)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, ${granted('$10')}, $11, $12, $13)`,
    [
      token.id,
      token.subjectType,
      token.subjectId,
      token.hash,
      token.prefix,
      token.scopeCeiling,
      token.name,
      token.provisioningKind,
      token.expiresAt === null ? null : iso(token.expiresAt),
      JSON.stringify(token.issuedBy),
      token.agentScopes ?? null,
      token.parentId ?? null,
      token.word == null ? null : JSON.stringify(token.word),
    ],
  );
}

/** Returns when the token was revoked; undefined if it was revoked before, itself or with the token that its session was made from. */
export async function revokeToken(tx: Transaction, id: string): Promise<number | undefined> {
  const [row] = await tx.query<{ revokedAt: number; subjectId: string }>(
    `update tokens set revoked_at = clock_timestamp() where id = $1 and revoked_at is null
       and not exists (select from tokens p where p.id = tokens.parent_id and p.revoked_at is not null)
     returning revoked_at as "revokedAt", subject_id as "subjectId"`,
    [id],
  );
  if (row !== undefined) tx.wake(topic.credentials(row.subjectId));
  return row?.revokedAt;
}

/** Makes creations for one subject wait for each other until the transaction ends (IM-16). */
export async function lockTokensOf(tx: Transaction, subjectType: 'user' | 'agent', subjectId: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`tokens:${subjectType}:${subjectId}`]);
}

/** Tokens that count for `max_active_tokens_per_user`: neither revoked nor expired nor provisioned. */
export async function countOwnActiveTokens(tx: Transaction, subjectType: 'user' | 'agent', subjectId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `select count(*) as count from tokens where subject_type = $1 and subject_id = $2 and provisioning_kind is null
       and revoked_at is null and (expires_at is null or expires_at >= clock_timestamp())`,
    [subjectType, subjectId],
  );
  return row?.count ?? 0;
}

/** Revokes a user's unrevoked tokens and returns their ids. Agent tokens with the same id are not the user's (IM-65). */
export async function revokeTokensOf(tx: Transaction, userId: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `update tokens set revoked_at = clock_timestamp() where subject_type = 'user' and subject_id = $1 and revoked_at is null returning id`,
    [userId],
  );
  tx.wake(topic.credentials(userId));
  return rows.map(({ id }) => id).sort();
}

/** Of a user's live sessions revokes all but the newest `kept`, and returns their ids. */
export async function revokeOldSessions(tx: Transaction, userId: string, kept: number): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `update tokens set revoked_at = clock_timestamp() where id in (
       select id from tokens where subject_type = 'user' and subject_id = $1 and provisioning_kind = 'console' and revoked_at is null
         and expires_at >= clock_timestamp() order by created_at desc, id desc offset $2)
     returning id`,
    [userId, kept],
  );
  if (rows.length > 0) tx.wake(topic.credentials(userId));
  return rows.map(({ id }) => id);
}

/** The session whose token has this hash, whether it has ended or not. */
export async function findSession(
  tx: Transaction,
  prefix: string,
  hash: string,
): Promise<{ id: string; subjectId: string } | undefined> {
  const [row] = await tx.query<{ id: string; subjectId: string }>(
    `select id, subject_id as "subjectId" from tokens where token_prefix = $1 and token_hash = $2 and provisioning_kind = 'console'`,
    [prefix, hash],
  );
  return row;
}

/** The token, and the one that its session was made from (CO-11), locked against being revoked. */
const held = (id: string) =>
  `select revoked_at from tokens where id = any(array(select unnest(array[id, parent_id]) from tokens where id = ${id})) for share`;
const noneRevoked = 'count(*) > 0 and count(revoked_at) = 0';

/** Keeps the token unrevoked until the transaction ends. False if it is revoked. */
export async function keepUnrevoked(tx: Transaction, id: string): Promise<boolean> {
  const [row] = await tx.query<{ kept: boolean }>(`select ${noneRevoked} as kept from (${held('$1')}) as held`, [id]);
  return row?.kept ?? false;
}

/** The same as part `held` of a larger statement, which `holds` lets through only if the token is not revoked; null asks for none. */
export function unrevokedToken(p: Parameters, id: string | null): { part: string; holds: string } {
  const token = `${p.add(id)}::uuid`;
  return { part: `held as materialized (${held(token)})`, holds: `(${token} is null or (select ${noneRevoked} from held))` };
}

/** Revokes all active tokens of a kind, of one subject or of all. Returns their ids and owners. */
export async function revokeProvisioned(
  tx: Transaction,
  kind: 'initial' | 'bootstrap',
  userId: string | null,
): Promise<{ id: string; subjectId: string }[]> {
  const rows = await tx.query<{ id: string; subjectId: string }>(
    `update tokens set revoked_at = clock_timestamp()
     where provisioning_kind = $1 and revoked_at is null and ($2::text is null or (subject_type = 'user' and subject_id = $2))
     returning id, subject_id as "subjectId"`,
    [kind, userId],
  );
  tx.wake(...rows.map(({ subjectId }) => topic.credentials(subjectId)));
  return rows;
}

/** Gives these scopes to active agent tokens of a kind that have none. Returns their ids and owners (HD-10). */
export function scopeProvisioned(
  tx: Transaction,
  kind: 'bootstrap',
  scopes: readonly string[],
): Promise<{ id: string; subjectId: string }[]> {
  return tx.query<{ id: string; subjectId: string }>(
    `update tokens set agent_scopes = $2
     where provisioning_kind = $1 and subject_type = 'agent' and agent_scopes is null and revoked_at is null returning id, subject_id as "subjectId"`,
    [kind, [...scopes]],
  );
}

/** `servesPair` as SQL: whether the scopes in a `text[]` parameter cover the pair of a table's row. Null = every pair. */
export const servesPairOf = (scopes: string, table: string) =>
  `(${scopes}::text[] is null or ${scopes}::text[] && array[${table}.database || '/' || ${table}.environment, ${table}.database || '/*', '*/' || ${table}.environment, '*/*'])`;
