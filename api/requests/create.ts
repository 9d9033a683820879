import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { approvalDigest } from '../../crypto/execution-token.js';
import type { Database } from '../../db/client.js';
import { clockFrom } from '../../db/clock.js';
import { creationInstant } from '../../db/creation.js';
import { isWriteRefused, violates } from '../../db/errors.js';
import { isoOrNull } from '../../db/row-types.js';
import type { Actor } from '../../domain/audit/draft.js';
import { invalid, refusal } from '../../domain/errors.js';
import { requesterRole } from '../../domain/execution-token.js';
import { lacking } from '../../domain/lacking.js';
import type { Permission } from '../../domain/permission-table.js';
import { can } from '../../domain/permissions.js';
import { currentSelectors } from '../../domain/request/approval.js';
import { conflict } from '../../domain/request/guards.js';
import type { CreationInput, NewRequest } from '../../domain/request/new-request.js';
import type { StoredRequest } from '../../domain/request/types.js';
import { noWayThrough } from '../../domain/workflow-policy.js';
import { planLimits } from '../../runtime/license-limits.js';
import type { Generation, Services } from '../context.js';
import type { Ahead } from '../http/ahead.js';
import { noteTouched } from '../http/call-spans.js';
import { type Reply, reply } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { versionOf } from '../policies/lists.js';
import { refuseAboveBacklog } from './backlog.js';
import { checkFlags } from './check-flags.js';
import { type creationBody, creationFingerprint, creationInput } from './creation-body.js';
import { insertNew } from './insert.js';
import { type Existing, findExisting } from './key-lines.js';
import { assessMigrationDetail } from './migration-detail.js';
import { countBreakGlassDdl, countCreated } from './moved.js';
import { notRegistered } from './not-registered.js';
import { pairDialect, registered } from './pair.js';
import { auditTexts } from './redaction.js';
import { assessSqlDetail } from './sql-detail.js';

/** What a creation needs of a call, whichever way it came. */
export type CreateCall = Pick<
  Call<undefined, undefined, z.output<typeof creationBody>>,
  'caller' | 'actor' | 'body' | 'bodyBytes' | 'generation' | 'signal' | 'clock'
> & { isReasonElicited?: boolean; ahead?: Ahead | null };

export const creationPermissions = [
  'request.query',
  'request.dml',
  'request.ddl',
  'request.break_glass_query',
  'request.break_glass_dml',
  'request.break_glass_ddl',
] as const satisfies Permission[];

/** How long an agent may take to claim (TT-4); an argument so that tests use milliseconds. */
export interface CreationTimes {
  dispatchMs: number;
}

/** `POST /api/requests` by the checks RQ-12 to RQ-25, in their order; 200 for a replay of a key (RQ-32). */
export async function createRequest(call: CreateCall, services: Services, times: CreationTimes): Promise<Reply> {
  const input = creationInput(call.body, call.bodyBytes);
  if (services.lifecycle.draining) throw refusal('service.draining', 'server is shutting down');
  checkFlags(input, call.actor.channel);
  if (!creationPermissions.some((permission) => can(call.caller, permission, input)))
    throw lacking(creationPermissions, call.body, 'or');
  const make = () => makeRequest(call, services, input, times);
  const { idempotencyKey: key } = input;
  if (key === null) return make();
  const look = () => findExisting(services.database, call.caller.id, key);
  const taken = await services.keyLines.take(`${call.caller.id} ${key}`, call.signal, { look, make });
  return 'made' in taken ? taken.made : replay(taken.found, fingerprintOf(call, input));
}

/** Of what the caller asked for: a reason that their user was asked for afterwards is no part of it, as it is missing in a repeat. */
const fingerprintOf = ({ isReasonElicited }: CreateCall, input: CreationInput) =>
  creationFingerprint(isReasonElicited ? { ...input, reason: null } : input);

/** RQ-32, RQ-33. */
function replay({ fingerprint, request }: Existing, asked: string): Reply {
  if (fingerprint === asked) return reply(200, answer(request, true));
  throw conflict('idempotency_key_taken', 'the idempotency key belongs to another request', `request ${request.id}`);
}

async function makeRequest(call: CreateCall, services: Services, input: CreationInput, times: CreationTimes): Promise<Reply> {
  await refuseAboveBacklog(services);
  const accept = async () => {
    const [request, clock] = await Promise.all([
      judgeCreation(call, services, input, times),
      call.clock ?? readClock(services.database),
    ]);
    return store(services, request, clock());
  };
  return input.allowDdl ? countBreakGlassDdl(services.metrics, accept) : accept();
}

async function judgeCreation(
  call: CreateCall,
  services: Services,
  input: CreationInput,
  times: CreationTimes,
): Promise<NewRequest> {
  const { generation, caller, actor } = call;
  if (registered(generation, input) === undefined) throw notRegistered(generation, caller, input);
  const dialect = await pairDialect(services.database, generation, input);
  const assess = input.asked.startsWith('migrate_') ? assessMigrationDetail : assessSqlDetail;
  const assessed = await assess(call, services, input, dialect);
  refuseBeyondPlan(services, generation, input);
  checkPolicy(input, assessed);
  const { operation } = assessed;
  const { revision: policyRevision } = generation;
  const policyVersions = await versionsOf(services, generation, assessed);
  return {
    ...assessed,
    ...auditTexts(services, { ...assessed, detail: input.detail }),
    id: randomUUID(),
    input: { ...input, metadata: shownMetadata(input, actor) },
    actor,
    requester: caller.id,
    requesterRole: requesterRole(caller.kind === 'user' ? caller.roles : []),
    dialect,
    fingerprint: fingerprintOf(call, input),
    policyRevision,
    policyVersions,
    approvalDigest: approvalDigest({ ...input, operation, policyRevision }),
    approvalTtlSecs: services.config().retention.approvalTtlSecs,
    dispatchMs: times.dispatchMs,
  };
}

async function versionsOf(services: Services, generation: Generation, { policy, review }: Pick<NewRequest, 'policy' | 'review'>) {
  const [workflow, reviewed] = await Promise.all([
    versionOf(services, generation, 'workflows', policy?.id ?? null),
    versionOf(services, generation, 'sqlReview', review.policyId),
  ]);
  return { workflow, review: reviewed };
}

/**
 * Approvers see that a request came from an MCP client, and from which one. Added after the fingerprint, so that a repeat through another client is a
 * repeat.
 */
const shownMetadata = ({ metadata }: CreationInput, { channel, client }: Actor): string =>
  channel === 'mcp' ? JSON.stringify({ source: 'mcp', ...(client === undefined ? {} : { client }) }) : metadata;

/** RQ-22: the plan counts the databases of the file from its first (OP-40). */
function refuseBeyondPlan(services: Services, generation: Generation, input: CreationInput): void {
  const { maxDatabases } = planLimits(services.config(), Date.now());
  const place = generation.shared.databases.findIndex(({ name }) => name === input.database);
  if (maxDatabases === null || place < maxDatabases) return;
  throw refusal(
    'plan.limit_exceeded',
    `database limit reached: ${maxDatabases}`,
    'remove a database from server.toml or use a larger plan',
  );
}

function checkPolicy(input: CreationInput, { policy, approval }: Pick<NewRequest, 'policy' | 'approval'>): void {
  if (policy === null && !input.emergency) throw invalid('no workflow matches this database, environment and operation');
  if (policy?.requireReason && input.reason === null)
    throw invalid('a reason is required by the workflow', 'body.reason', 'reason_required');
  const refused = policy && noWayThrough(approval, policy);
  if (refused !== null) throw invalid(refused);
  if (input.requireApproval && policy?.steps.length === 0)
    throw invalid('the workflow has no approval steps', 'body.require_approval');
}

const readClock = async (database: Database) => clockFrom(await creationInstant(database));

async function store(services: Services, request: NewRequest, now: number): Promise<Reply> {
  try {
    const stored = await insertNew(services, request, now);
    countCreated(services.metrics, stored);
    noteTouched(services.tracing, stored, true);
    return reply(201, answer(stored, false));
  } catch (error) {
    if (request.input.allowDdl && isWriteRefused(error)) services.metrics.breakGlassDdl.auditFailure.inc();
    if (!violates(error, 'requests_by_key')) throw error;
    const existing = await findExisting(services.database, request.requester, request.input.idempotencyKey ?? '');
    if (existing === null) throw refusal('service.unavailable', 'the request is being created by another call');
    return replay(existing, request.fingerprint);
  }
}

function answer(request: StoredRequest, idempotent: boolean) {
  return {
    id: request.id,
    status: request.status,
    operation: request.operation,
    approvers: currentSelectors(request),
    idempotent,
    expires_at: request.status === 'pending' ? isoOrNull(request.expiresAt) : null,
  };
}
