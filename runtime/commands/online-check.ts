import { changedSections } from '../../config/index.js';
import type { Positions } from '../../config/positions.js';
import type { Config, ConfigProblem } from '../../config/types.js';
import { approvalMacs } from '../../crypto/approval-macs.js';
import { openFormerSeed } from '../../crypto/seal.js';
import { listApproversOfOld } from '../../db/approvers.js';
import type { Database } from '../../db/client.js';
import { holdsUnder } from '../../db/generations.js';
import { schemaVersion } from '../../db/migrate.js';
import { findCurrentKey } from '../../db/signing-keys.js';
import { countActiveUsers, countMembersExcept } from '../../db/users.js';
import { approverShortage } from '../approver-shortage.js';
import { compareGeneration } from '../generation.js';
import { planLimits } from '../license-limits.js';
import { loadExistingSecretKey } from '../secret-key.js';
import { openKey } from '../signing-keys.js';
import { StartError } from '../start-error.js';
import { findSchema, withDatabase } from './own-database.js';

/** What a start or reload with the file would change for all processes; `next` is null if nothing. */
export interface Changes {
  in_force: number | null;
  next: number | null;
  sections: string[];
  removed_groups: { group: string; members: number }[];
}

/**
 * The start and reload checks that need the gateway's database (CF-61). Throws `StartError` if one refuses the file. Writes nothing. A
 * start would migrate an older schema first, so this reads only what every schema version shares (CF-I1).
 */
export function checkOnline(config: Config, positions: Positions): Promise<{ warnings: ConfigProblem[]; changes: Changes }> {
  return withDatabase(config, async (database) => {
    const schema = await findSchema(database);
    if (schema === null) return { warnings: [], changes: firstGeneration(config) };
    if (numberOf(schema) > numberOf(schemaVersion))
      throw new StartError(`the gateway database has schema ${schema}, newer than this program's ${schemaVersion}`);
    const holds = await generationsThatHold(config, database);
    return {
      warnings: [...(await planWarnings(config, positions, database)), ...(await approverWarnings(config, positions, database))],
      changes: await compare(config, database, holds),
    };
  });
}

const numberOf = (migration: string) => Number.parseInt(migration, 10);

const firstGeneration = ({ shared }: Config): Changes => ({
  in_force: null,
  next: 1,
  sections: changedSections(null, shared),
  removed_groups: [],
});

type Holds = Parameters<typeof compareGeneration>[2];

/** ET-22: throws if a start could not sign. Without a current key, a start creates one. Trusts what an older version left, as the start will. */
async function generationsThatHold({ security }: Config, database: Database): Promise<Holds> {
  const purpose = 'execution_token';
  const key = await findCurrentKey(database, purpose);
  if (key === undefined) return () => true;
  const secretKey = await loadExistingSecretKey(security);
  if (openFormerSeed(key.sealedSeed, key.keyId, secretKey) !== null) return () => true;
  openKey(key, purpose, secretKey);
  return holdsUnder(approvalMacs(secretKey));
}

/** Only warns: exceeding the plan refuses nothing here (OP-42). */
async function planWarnings(config: Config, positions: Positions, database: Database): Promise<ConfigProblem[]> {
  const { maxUsers } = planLimits(config, Date.now());
  const users = await countActiveUsers(database);
  if (maxUsers === null || users <= maxUsers) return [];
  const message = `user limit of the plan: ${maxUsers}, active users: ${users}`;
  return [{ file: config.file, ...positions.key(['license']), key: 'license', message, hint: 'no further user can be added' }];
}

/** Steps that no active user could complete, whoever asks (RQ-38). Before the first start there is nobody, and so nothing to tell. */
async function approverWarnings(config: Config, positions: Positions, database: Database): Promise<ConfigProblem[]> {
  if ((await countActiveUsers(database)) === 0) return [];
  const { shared, file } = config;
  const settings = { shared, hasProvider: config.auth.oidc !== null };
  const warnings: ConfigProblem[] = [];
  for (const [index, policy] of shared.workflows.entries()) {
    const asked = { pair: policy, requester: null };
    const message = await approverShortage(settings, policy, asked, (...named) => listApproversOfOld(database, ...named));
    if (message === null) continue;
    const where = `${policy.database}/${policy.environment}`;
    const hint = 'add users to the group, or give them the role: svc user update';
    const place = positions.key(['workflows', index]);
    warnings.push({ file, ...place, key: `workflows[${index}]`, message: `${where}: ${message}`, hint });
  }
  return warnings;
}

function compare(config: Config, database: Database, holds: Holds): Promise<Changes> {
  return database.transaction(async (tx) => {
    const { inForce, isNew } = await compareGeneration(tx, config, holds);
    if (inForce === undefined) return firstGeneration(config);
    if (!isNew) return { in_force: inForce.number, next: null, sections: [], removed_groups: [] };
    const groups = config.shared.auth.groups.map(({ name }) => name);
    return {
      in_force: inForce.number,
      next: inForce.number + 1,
      sections: changedSections(inForce.content, config.shared),
      removed_groups: await countMembersExcept(tx, groups),
    };
  });
}
