import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { approvalDigest } from '../../crypto/execution-token.js';
import { creationInstant, insertRequest } from '../../db/creation.js';
import { isWriteRefused, violates } from '../../db/errors.js';
import { lockPair } from '../../db/migration-pairs.js';
import { isoOrNull } from '../../db/row-types.js';
import { lockActive } from '../../db/users.js';
import { forbidden, invalid, refusal } from '../../domain/errors.js';
import { requesterRole } from '../../domain/execution-token.js';
import type { Permission } from '../../domain/permission-table.js';
import { can } from '../../domain/permissions.js';
import type { Operation } from '../../domain/policies.js';
import { currentSelectors } from '../../domain/request/approval.js';
import { type Creation, type CreationInput, createdRequest } from '../../domain/request/creation.js';
import { conflict } from '../../domain/request/guards.js';
import { isMutatingMigration, type StoredRequest } from '../../domain/request/types.js';
import { decideAutoApproval, snapshotWorkflow } from '../../domain/workflow-policy.js';
import { planLimits } from '../../runtime/license-limits.js';
import type { Generation, Services } from '../context.js';
import { type Reply, reply } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { refuseAboveBacklog } from './backlog.js';
import { type creationBody, creationFingerprint, creationInput } from './creation-body.js';
import { pairDialect, registered } from './facts.js';
import { type Existing, findExisting } from './key-lines.js';
import { judgeMigrationContent } from './migration-content.js';
import { countBreakGlassDdl, countCreated } from './moved.js';
import { notRegistered } from './not-registered.js';
import { redactedTexts } from './redaction.js';
import { judgeSqlContent } from './sql-content.js';

type CreateCall = Call<undefined, undefined, z.output<typeof creationBody>>;

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
  checkFlags(input);
  if (!creationPermissions.some((permission) => can(call.caller, permission, input))) throw forbidden();
  const fingerprint = creationFingerprint(input);
  const accept = async () => store(call, services, await judgeCreation(call, services, input, times), fingerprint);
  const make = async () => {
    await refuseAboveBacklog(services);
    return input.allowDdl ? countBreakGlassDdl(services.metrics, accept) : accept();
  };
  const { idempotencyKey: key } = input;
  if (key === null) return make();
  const look = () => findExisting(services.database, call.caller.id, key);
  const taken = await services.keyLines.take(`${call.caller.id} ${key}`, call.signal, { look, make });
  return 'made' in taken ? taken.made : replay(taken.found, fingerprint);
}

function checkFlags(input: CreationInput & { asked: Operation }): void {
  if (input.allowDdl && !input.emergency) throw invalid('allow_ddl needs emergency', 'body.allow_ddl');
  if (input.asked === 'migrate_repair' && !input.emergency) throw invalid('migrate_repair needs emergency', 'body.emergency');
  if (input.requireApproval && input.emergency) throw invalid('an emergency takes no approval steps', 'body.require_approval');
  if (input.emergency && input.reason === null)
    throw invalid('a reason is required for an emergency', 'body.reason', 'reason_required');
}

/** RQ-32, RQ-33. */
function replay({ fingerprint, request }: Existing, asked: string): Reply {
  if (fingerprint === asked) return reply(200, answer(request, true));
  throw conflict('idempotency_key_taken', 'the idempotency key belongs to another request', `request ${request.id}`);
}

async function judgeCreation(
  call: CreateCall,
  services: Services,
  input: CreationInput & { asked: Operation },
  times: CreationTimes,
): Promise<Creation> {
  const { generation, caller } = call;
  if (registered(generation, input) === undefined) throw notRegistered(generation, caller, input);
  const dialect = await pairDialect(services.database, generation, input);
  const judge = input.asked.startsWith('migrate_') ? judgeMigrationContent : judgeSqlContent;
  const { matched, permitted, bounded, explainable, ...content } = await judge(call, services, { input, dialect });
  if (!permitted) throw forbidden();
  refuseBeyondPlan(services, generation, input);
  if (matched === null && !input.emergency) throw invalid('no workflow matches this database, environment and operation');
  if (matched?.requireReason && input.reason === null)
    throw invalid('a reason is required by the workflow', 'body.reason', 'reason_required');
  if (input.requireApproval && matched?.steps.length === 0)
    throw invalid('the workflow has no approval steps', 'body.require_approval');
  const { approvalTtlSecs } = services.config().retention;
  const workflow = matched === null ? null : snapshotWorkflow(matched, approvalTtlSecs);
  const policyRevision = generation.revision;
  return {
    ...content,
    id: randomUUID(),
    input,
    requester: caller.id,
    requesterRole: requesterRole(caller.kind === 'user' ? caller.roles : []),
    dialect,
    // AG-65: the statements that agents are asked to explain.
    explain: workflow?.explain === true && !input.noResultStore ? explainable : [],
    policy: workflow,
    approval: decideAutoApproval(workflow?.autoApprove ?? null, content.risk.level, { ...input, bounded }),
    policyRevision,
    approvalDigest: approvalDigest({ ...input, operation: content.operation, policyRevision }),
    approvalTtlSecs,
    dispatchMs: times.dispatchMs,
  };
}

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

async function store(call: CreateCall, services: Services, creation: Creation, fingerprint: string): Promise<Reply> {
  const redacted = await redactedTexts(services, { ...creation, detail: creation.input.detail }, call.caller);
  try {
    const request = await services.database.transaction(async (tx) => {
      const [active, now] = await Promise.all([lockActive(tx, { id: creation.requester }), creationInstant(tx)]);
      if (!active) throw refusal('auth.user_suspended', 'user suspended');
      const created = createdRequest(creation, call.actor, now);
      const busyMs = isMutatingMigration(creation.operation) ? await lockPair(tx, creation.input) : 0;
      insertRequest(tx, creation, { ...redacted, fingerprint }, created, busyMs);
      return created.request;
    });
    countCreated(services.metrics, request);
    return reply(201, answer(request, false));
  } catch (error) {
    if (creation.input.allowDdl && isWriteRefused(error)) services.metrics.breakGlassDdl.auditFailure.inc();
    if (!violates(error, 'requests_by_key')) throw error;
    const existing = await findExisting(services.database, creation.requester, creation.input.idempotencyKey ?? '');
    if (existing === null) throw refusal('service.unavailable', 'the request is being created by another call');
    return replay(existing, fingerprint);
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
