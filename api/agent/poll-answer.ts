import { z } from 'zod';
import { STATUSES } from '../../domain/request/types.js';
import { count, flag, hex, instant, list, named, oneOf, pair, text, userIdText, uuid } from '../http/fields.js';
import { operation } from '../requests/schemas.js';

const detail = text('The SQL or the migrations, byte for byte as they were approved.');
const fence = count('The number of the run; every dispatch raises it by 1.');
const explainToken = text('A signed JSON text: this agent may plan this statement within 60 s.');
const serverTime = instant("The server's clock, to compare with.");

const job = named('AgentJob', 'A dispatched request that is offered.', {
  id: uuid('The id of the REQUEST.'),
  created_by: userIdText('The requester.'),
  operation,
  ...pair,
  detail,
  fence,
});

export const claimAnswer = named('Claim', 'A run that the agent has claimed.', {
  execution_id: uuid('The id of the execution.'),
  request_id: uuid('The id of the request.'),
  operation,
  ...pair,
  detail,
  execution_token: text(
    'The signed token, a JSON text, that says what may be run. The agent verifies it before it runs anything.',
  ),
  statement_timeout_secs: count('The statement timeout in seconds; 0 = none.'),
  max_rows: count('How many rows to read at most; null = as many as the agent allows.').nullable(),
  lease_expires_at: instant('When the lease ends. Without a heartbeat before then the run counts as lost.'),
  lease_secs: count('The length of the lease in seconds.'),
  execution_plan: z.null().meta({ description: 'Never filled.' }),
  execution_plan_json: z.null().meta({ description: 'Never filled.' }),
  fence,
  unresolved_fences: list(count('The number of a run.'), 'Earlier runs of which nobody knows whether they were committed.'),
  unresolved_executions: list(
    z.object({
      fence: count('The number of the run.'),
      execution_id: uuid('Its execution.'),
      agent_id: text('The agent that claimed it.'),
      claimed_at: instant('When it was claimed.'),
      marker_form: count(
        'Where its agent wrote markers: 1 where agents without the feature `marker_executions` do, 2 where those with it do.',
      ),
    }),
    'The executions of these runs.',
  ),
  marker: z.enum(['required', 'none']).meta({ description: 'Whether the run must write a marker row.' }),
  policy_revision: text('The configuration generation that it was made under, such as `r7`.'),
  approval_digest: hex(64, 'The SHA-256 of what was approved.'),
  max_result_bytes: count('How many bytes of a result the server keeps.'),
  max_affected_rows: count('How many rows a write may change before it must be rolled back; null = any number.').nullable(),
  search_path: list(
    text('The name of a schema.'),
    'Where names without a schema are looked up; null where that is not known.',
  ).nullable(),
  server_time: serverTime,
});

const dryRunJob = named('DryRunJob', 'A statement of a request whose plan approvers will see.', {
  id: uuid('The id of the job.'),
  request_id: uuid('The request.'),
  ...pair,
  sql: text('The statement.'),
});

const preflightJob = named('PreflightJob', 'A statement whose plan a preflight waits for. The poll has claimed it.', {
  id: uuid('The id of the job.'),
  ...pair,
  sql: text('The statement.'),
  claim_token: text('To be sent back with the plan.'),
  timeout_ms: count('How long the preflight waits, in milliseconds.'),
  expires_at: instant('Until when.'),
  explain_token: explainToken,
});

export const dryRunClaim = named('DryRunClaim', 'A claimed statement.', {
  claim_token: text('To be sent back with the plan.'),
  explain_token: explainToken,
});

const namedPair = z.object(pair);

export const pollAnswer = named('AgentPollAnswer', 'What there is to do.', {
  jobs: list(job, 'Requests to be claimed; another agent may be faster.'),
  claims: list(
    claimAnswer,
    'With `claim`: what this poll claimed, and what polls of this instance claimed before and `holding` lacks.',
  ),
  dry_run_jobs: list(dryRunJob, 'Statements to be claimed and planned.'),
  preflight_jobs: list(preflightJob, 'Statements to be planned.'),
  cancelled: list(
    uuid('An execution.'),
    'Those of `holding` whose cancel was asked for and that no poll of this instance was told of before.',
  ),
  schema_sync: list(namedPair, 'Databases whose schema snapshot the gateway asks for.'),
  refused_scopes: list(namedPair, 'Those of the scopes that the token may not serve. They were not recorded.'),
  server_version: text('The version of the server.'),
  min_agent_version: text('The lowest version that gets work.'),
  upgrade_required: flag('True if this agent is older than that; all lists are empty then.'),
  agent_id: userIdText('The id of the agent, by its token.'),
  server_time: serverTime,
});

export const heartbeatAnswer = named('Heartbeat', 'The lease of a run.', {
  cancelled: flag('True if the agent is to cancel the run.'),
  lease_expires_at: instant('When the lease ends now.'),
});

export const submitted = named('SubmittedResult', 'What became of the request.', {
  request_id: uuid('The id of the request.'),
  status: oneOf(STATUSES, 'Where the request stands.'),
});
