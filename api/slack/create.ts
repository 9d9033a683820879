import type { Caller, Pair } from '../../domain/caller.js';
import { GatewayError } from '../../domain/errors.js';
import { can } from '../../domain/permissions.js';
import { registeredPairs } from '../../domain/policies.js';
import { createModal, madeModal, pairOf } from '../../domain/slack/create-modal.js';
import { chosenIn, typedIn } from '../../domain/slack/submission.js';
import type { Generation } from '../context.js';
import { checkedBody } from '../http/checked-body.js';
import type { Reply } from '../http/reply.js';
import { createRequest } from '../requests/create.js';
import { creationBody } from '../requests/creation-body.js';
import { withWarnings } from '../requests/warnings.js';
import { actingUser } from './acting-user.js';
import type { CommandHandler, SubmissionHandler, ViewAnswer } from './call.js';
import { leftMs } from './in-time.js';
import { openModal } from './open-modal.js';
import { placeOf, toldOfSubmission } from './told.js';
import { errorOn } from './view-answers.js';

/** `/svc execute`: a form for a new request (SL-33). */
export const execute: CommandHandler = async (call, { triggerId }) => {
  const { caller } = await actingUser(call);
  const pairs = openPairs(caller, call.generation);
  if (pairs.length === 0) return 'there is no database on which you may ask for SQL to be run';
  await openModal(call, triggerId, createModal(pairs), leftMs(call));
  return null;
};

const openPairs = (caller: Caller, { shared }: Generation): Pair[] =>
  registeredPairs(shared).filter((pair) => can(caller, 'request.query', pair) || can(caller, 'request.dml', pair));

const pairBlock = 'db_env_block';
const sqlBlock = 'sql_block';
const reasonBlock = 'reason_block';

/** `svc_create_modal`: the creation that the API would make of the same body. Its key lets a modal create one request (SL-I6). */
export const submitCreate: SubmissionHandler = {
  firstBlock: pairBlock,
  async submit(call, view) {
    const pair = pairOf(chosenIn(view, pairBlock, 'db_env_input'));
    if (pair === null) return errorOn(pairBlock, 'Choose a database and environment.');
    const body = {
      ...pair,
      operation: 'execute_select',
      detail: typedIn(view, sqlBlock, 'sql_input') ?? '',
      reason: typedIn(view, reasonBlock, 'reason_input'),
      idempotency_key: `slack-${view.id}`,
      metadata: { source: 'slack', slack_user_id: call.slackUserId },
    };
    try {
      const who = await actingUser(call);
      const parsed = checkedBody(creationBody, body);
      const { services, generation, times } = call;
      const bodyBytes = Buffer.from(JSON.stringify(body));
      const asked = { ...who, generation, body: parsed, bodyBytes, signal: neverGone, bodyKeys: [] };
      return told(await withWarnings(asked, services, await createRequest(asked, services, times)));
    } catch (error) {
      return errorOn(blockOf(error), toldOfSubmission(call, error));
    }
  },
};

/** Closes the form, unless there is something to warn of. */
function told({ body }: Reply): ViewAnswer {
  const { id, warnings = [] } = (body.kind === 'value' ? body.value : {}) as { id: string; warnings?: string[] };
  return warnings.length === 0 ? null : { response_action: 'update', view: madeModal(id, warnings) };
}

/** The creation goes on after a late answer. */
const neverGone = new AbortController().signal;

const ofThePair: ReadonlySet<string> = new Set([
  'auth.forbidden',
  'auth.user_suspended',
  'auth.no_roles_resolved',
  'plan.limit_exceeded',
  'service.draining',
]);

function blockOf(error: unknown): string {
  const place = placeOf(error);
  if (place === 'body.reason') return reasonBlock;
  if (place === 'body.database' || place === 'body.environment') return pairBlock;
  if (!(error instanceof GatewayError)) return pairBlock;
  return ofThePair.has(error.code) || error.reason === 'not_registered' ? pairBlock : sqlBlock;
}
