import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/types.js';
import { type ApiToken, apiToken, newApiToken } from '../../crypto/api-token.js';
import { insertAuditEvents } from '../../db/audit.js';
import { bootstrapHashes, hasNoIdentities, lockBootstrap } from '../../db/bootstrap.js';
import type { Database, Transaction } from '../../db/client.js';
import { insertToken, type NewToken, revokeProvisioned, scopeProvisioned } from '../../db/tokens.js';
import { findUser, insertUser } from '../../db/users.js';
import { systemActor } from '../../domain/audit/draft.js';
import { systemGrant } from '../../domain/four-eyes.js';
import { type BootstrapFiles, bootstrapFiles, tokenFiles } from './bootstrap-files.js';
import { tokenCreated, tokenRevoked, tokenScoped, userCreated } from './events.js';

export interface BootstrapOptions {
  database: Database;
  config: Pick<Config, 'stateDir' | 'bootstrap' | 'agents'>;
  /** `--force-bootstrap` (IM-58). */
  force: boolean;
  warn: (text: string) => void;
}

const adminRoles = ['admin', 'requester'];

/** IM-55 to IM-58: on an empty database, creates the first user and tokens, and the token files. Throws `StartError` if a listed file is gone. */
export async function bootstrap({ database, config, force, warn }: BootstrapOptions): Promise<void> {
  const files = bootstrapFiles(config.stateDir);
  await database.transaction(async (tx) => {
    await lockBootstrap(tx);
    await files.finish(await bootstrapHashes(tx));
    if (force) return makeAnew(tx, files, config.agents, warn);
    if (await hasNoIdentities(tx)) return makeFirst(tx, files, config);
    await files.check();
    await scopeBootstrapToken(tx, config.agents.defaultScopes, warn);
  });
  const stored = await bootstrapHashes(database);
  await files.finish(stored);
  for (const [key, preset] of Object.entries({
    'bootstrap.admin_token': config.bootstrap.adminToken,
    'bootstrap.agent_token': config.bootstrap.agentToken,
  })) {
    if (preset !== null && !stored.has(apiToken(preset).hash)) warn(`${key} is not a bootstrap token of this database`);
  }
}

async function makeFirst(
  tx: Transaction,
  files: BootstrapFiles,
  { bootstrap: presets, agents }: BootstrapOptions['config'],
): Promise<void> {
  await insertUser(tx, { id: 'admin', roles: adminRoles, source: 'bootstrap' }, systemGrant);
  await insertAuditEvents(tx, userCreated(systemActor, { id: 'admin', source: 'bootstrap', roles: adminRoles, groups: [] }));
  await makeTokens(
    tx,
    files,
    {
      admin: presets.adminToken === null ? newApiToken() : apiToken(presets.adminToken),
      requester: newApiToken(),
      agent: presets.agentToken === null ? newApiToken() : apiToken(presets.agentToken),
    },
    agents,
  );
}

/** HD-10: gives a bootstrap token of an older version the scopes that it would get now, so its agent keeps working. */
async function scopeBootstrapToken(tx: Transaction, scopes: readonly string[], warn: (text: string) => void): Promise<void> {
  if (scopes.length === 0) return;
  const scoped = await scopeProvisioned(tx, 'bootstrap', scopes);
  await insertAuditEvents(
    tx,
    scoped.map((token) => tokenScoped(systemActor, token, scopes)),
  );
  if (scoped.length > 0)
    warn(`the bootstrap agent token had no scopes; from now on it serves ${scopes.join(', ')} (agents.default_scopes)`);
}

async function makeAnew(
  tx: Transaction,
  files: BootstrapFiles,
  agents: Config['agents'],
  warn: BootstrapOptions['warn'],
): Promise<void> {
  const revoked = await revokeProvisioned(tx, 'bootstrap', null);
  await insertAuditEvents(
    tx,
    revoked.map((token) => tokenRevoked(systemActor, token, 'force_bootstrap')),
  );
  if (await insertUser(tx, { id: 'admin', roles: adminRoles, source: 'bootstrap' }, systemGrant))
    await insertAuditEvents(tx, userCreated(systemActor, { id: 'admin', source: 'bootstrap', roles: adminRoles, groups: [] }));
  const user = await findUser(tx, 'admin');
  if (user?.status !== 'active')
    warn(`the user admin is ${user?.status}: the new ${tokenFiles.admin} and ${tokenFiles.requester} are refused`);
  else if (!user.roles.includes('admin'))
    warn(
      `the user admin does not have the role admin itself: without a group that gives it, the new ${tokenFiles.admin} administers nothing`,
    );
  await makeTokens(tx, files, { admin: newApiToken(), requester: newApiToken(), agent: newApiToken() }, agents);
}

async function makeTokens(
  tx: Transaction,
  files: BootstrapFiles,
  made: Record<keyof typeof tokenFiles, ApiToken>,
  { defaultScopes }: Config['agents'],
): Promise<void> {
  const tokens = [
    stored('bootstrap-admin', made.admin, { type: 'user', id: 'admin', ceiling: adminRoles }),
    stored('bootstrap-requester', made.requester, { type: 'user', id: 'admin', ceiling: ['requester'] }),
    {
      ...stored('bootstrap-agent', made.agent, { type: 'agent', id: 'agent', ceiling: null }),
      agentScopes: defaultScopes.length > 0 ? defaultScopes : null,
    },
  ];
  for (const token of tokens) await insertToken(tx, token);
  await insertAuditEvents(
    tx,
    tokens.map((token) => tokenCreated(systemActor, token)),
  );
  await files.prepare({
    [tokenFiles.admin]: made.admin.token,
    [tokenFiles.requester]: made.requester.token,
    [tokenFiles.agent]: made.agent.token,
  });
}

function stored(
  name: string,
  { prefix, hash }: ApiToken,
  subject: { type: 'user' | 'agent'; id: string; ceiling: string[] | null },
): NewToken & { provisioningKind: 'bootstrap' } {
  return {
    id: randomUUID(),
    subjectType: subject.type,
    subjectId: subject.id,
    hash,
    prefix,
    scopeCeiling: subject.ceiling,
    name,
    provisioningKind: 'bootstrap',
    expiresAt: null,
    issuedBy: systemGrant,
  };
}
