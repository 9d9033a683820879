import type { Logger } from 'pino';
import { changedSections, findLostSections, sharedContent } from '../config/index.js';
import type { Config } from '../config/types.js';
import { insertAuditEvents } from '../db/audit.js';
import type { Database, Transaction } from '../db/client.js';
import {
  findInForce,
  holdsUnder,
  insertGeneration,
  latestGenerationNumber,
  lockGenerations,
  type StoredGeneration,
} from '../db/generations.js';
import { type Notifications, topic } from '../db/notifications.js';
import { listActiveHolders, removeMembershipsExcept } from '../db/users.js';
import { type AuditDraft, systemActor } from '../domain/audit/draft.js';
import { hasAdmin } from '../domain/last-admin.js';
import type { SharedConfig } from '../domain/policies.js';
import { checkSecretKey } from './enter-secret-key.js';
import { repeat } from './repeat.js';
import { ConfigError } from './start-error.js';
import type { Troubles } from './troubles.js';

/** One stored state of the shared configuration. A call uses the same one from its first check to its last (CF-32). */
export interface Generation {
  number: number;
  /** `r<number>`, the `policy_revision` of ET-12. */
  revision: string;
  shared: SharedConfig;
  /** Milliseconds since the epoch. */
  createdAt: number;
}

/**
 * CF-30: puts the file's shared part in force, unless it already is. Throws `ConfigError` if a section was probably lost (CF-50), or
 * nobody would be an admin any more (CF-43).
 */
export async function syncGeneration(database: Database, config: Config): Promise<Generation> {
  const stored = await database.transaction(async (tx) => {
    await checkSecretKey(tx);
    const { inForce, rejected, isNew, content, digest } = await compareGeneration(tx, config, holdsUnder(tx.macs));
    if (!isNew && inForce !== undefined) return inForce;
    await insertAuditEvents(tx, rejected.map(notOurs));
    const next = await insertGeneration(tx, digest, JSON.parse(content) as SharedConfig);
    await endLostMemberships(tx, config.shared);
    await insertAuditEvents(tx, [synced(next, inForce?.content)]);
    tx.wake(topic.generation);
    return next;
  });
  return toGeneration(stored);
}

/**
 * Checks a start or reload against the generation in force, and blocks other syncs until the transaction ends. Throws `ConfigError` as
 * `syncGeneration` does.
 */
export async function compareGeneration(tx: Transaction, config: Config, holds: Parameters<typeof findInForce>[1]) {
  const { content, digest } = sharedContent(config.shared);
  await lockGenerations(tx);
  const { inForce, rejected } = await findInForce(tx, holds);
  if (inForce !== undefined) refuseLostSections(config, inForce.content);
  // A rejected generation needs a newer one above it: otherwise it would always remain the newest.
  const isNew = inForce?.digest !== digest || rejected.length > 0;
  if (isNew && inForce !== undefined) await keepAdmin(tx, config, inForce.content);
  return { inForce, rejected, isNew, content, digest };
}

/**
 * CF-43: throws `ConfigError` if the file would take the admin from the last active user who is one, so it cannot lock everybody out. The caller holds the
 * generations' lock, so no user can change meanwhile (IM-64).
 */
async function keepAdmin(tx: Transaction, { file, shared }: Config, inForce: SharedConfig): Promise<void> {
  const known = new Set(shared.auth.groups.map((group) => group.name));
  const holders = await listActiveHolders(tx);
  const after = holders.map(({ roles, groups }) => ({ roles, groups: groups.filter((name) => known.has(name)) }));
  if (hasAdmin(after, shared.auth) || !hasAdmin(holders, inForce.auth)) return;
  const message = 'no active user would be an admin any more';
  const hint = 'give somebody the role admin first, or keep the roles and groups that make them one';
  throw new ConfigError({ file, line: 1, column: 1, key: 'auth', message, hint });
}

export interface GenerationWatch {
  current(): Generation;
  /** Adopts what this process has just put in force. */
  use(generation: Generation): void;
  close(): Promise<void>;
}

/** Follows generations that other processes put in force: on notification, or within 2 s (CF-32 allows 5). */
export function watchGeneration(options: {
  database: Database;
  notifications: Notifications;
  log: Logger;
  troubles: Troubles;
  first: Generation;
  onChange?: (generation: Generation) => void;
}): GenerationWatch {
  let current = options.first;
  options.onChange?.(current);
  const use = (generation: Generation) => {
    if (generation.number <= current.number) return;
    current = generation;
    options.log.info({ generation: current.number }, 'configuration generation in force');
    options.onChange?.(current);
  };
  const part = 'generation';
  let rejectedTo = 0;
  const look = async () => {
    const news = await newsAfter(options.database, () => Math.max(current.number, rejectedTo));
    if (news === null) return;
    for (const number of news.rejected) options.log.error({ generation: number }, notWritten(number));
    rejectedTo = Math.max(rejectedTo, ...news.rejected);
    if (news.inForce !== undefined) use(toGeneration(news.inForce));
  };
  const following = repeat({
    everyMs: 2000,
    work: () => look().then(() => options.troubles.works(part)),
    onError: (error) => options.troubles.failed(part, error, 'generation not read', { error: String(error) }),
  });
  const unsubscribe = options.notifications.subscribe(topic.generation, following.wake);
  return {
    current: () => current,
    use,
    close: async () => {
      unsubscribe();
      await following.stop();
    },
  };
}

/** The generation in force and those above `known` that nobody with the secret key wrote; null when there is none above it. */
async function newsAfter(database: Database, known: () => number) {
  if ((await latestGenerationNumber(database)) <= known()) return null;
  return database.transaction(async (tx) => {
    await checkSecretKey(tx);
    const { inForce, rejected } = await findInForce(tx, holdsUnder(tx.macs));
    const news = rejected.filter((number) => number > known());
    await insertAuditEvents(tx, news.map(notOurs));
    return { inForce, rejected: news };
  });
}

function toGeneration({ number, content, createdAt }: StoredGeneration): Generation {
  return { number, revision: `r${number}`, shared: content, createdAt };
}

function refuseLostSections(config: Config, inForce: SharedConfig): void {
  const lost = findLostSections(inForce, config.shared, config.allowEmpty);
  if (lost.length === 0) return;
  throw new ConfigError(
    ...lost.map(({ section, message, hint }) => ({ file: config.file, line: 1, column: 1, key: section, message, hint })),
  );
}

/** IM-75: ends memberships in groups that the file no longer has. */
async function endLostMemberships(tx: Transaction, shared: SharedConfig): Promise<void> {
  const ended = await removeMembershipsExcept(
    tx,
    shared.auth.groups.map((group) => group.name),
  );
  await insertAuditEvents(
    tx,
    ended.map(({ userId, groupName }) => ({
      type: 'group.member_removed',
      outcome: 'success',
      actor: systemActor,
      resourceType: 'user',
      resourceId: userId,
      reason: null,
      metadata: { group: groupName },
    })),
  );
}

const notWritten = (number: number) => `generation ${number} was not written by a process with the secret key, and is not used`;

/** HD-50: somebody else wrote a generation into the database. */
const notOurs = (number: number): AuditDraft => ({
  type: 'config.rejected',
  outcome: 'failure',
  actor: systemActor,
  resourceType: 'config',
  resourceId: String(number),
  reason: null,
  metadata: { errors: [notWritten(number)] },
});

function synced(next: StoredGeneration, before: SharedConfig | undefined): AuditDraft {
  const changed = changedSections(before ?? null, next.content);
  return {
    type: 'config.synced',
    outcome: 'success',
    actor: systemActor,
    resourceType: 'config',
    resourceId: String(next.number),
    reason: null,
    metadata: { generation: next.number, digest: next.digest, changed_sections: changed },
  };
}
