import type { Reason } from '../../domain/errors.js';
import type { FakeApi } from '../support/fake-api.js';

export const requestId = '4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11';
const executionId = '0b6e4a52-0f7e-4a0e-9d2f-6f0a6f1b7c11';

/** The answer of a creation. */
export function created(status: string, more: object = {}) {
  return {
    status: 201,
    body: { id: requestId, status, operation: 'execute_dml', approvers: [], idempotent: false, expires_at: null, ...more },
  };
}

/** The answer of `GET /api/requests/{id}`. */
export function shown(status: string, more: object = {}) {
  const approvals = [
    { user: 'bob', action: 'approve', selector: 'group:backend-team', at: '2026-05-01T09:20:01.500Z', comment: 'ok' },
  ];
  return {
    body: {
      id: requestId,
      requester: 'alice',
      database: 'app',
      environment: 'production',
      operation: 'execute_dml',
      detail: "UPDATE users SET name = 'x' WHERE id = 7",
      status,
      queue_hint: null,
      emergency: false,
      no_result_store: false,
      reason: 'offboarding',
      share_with: [],
      metadata: {},
      idempotency_key: null,
      created_at: '2026-05-01T09:15:30.482Z',
      updated_at: '2026-05-01T09:20:01.500Z',
      expires_at: '2026-05-02T09:15:30.482Z',
      approved_at: null,
      dispatch_by: null,
      resolved_at: null,
      claimed_by: null,
      cancel_requested_at: null,
      cancelled_by: null,
      cancel_reason: null,
      lost_reason: null,
      approval_digest: '20c587fe8b0284d20b421a67bb9c028c40ade969d2b61d61f3bd964f2e0687c4',
      approval_progress: {
        current_step: 1,
        total_steps: 2,
        steps: [
          {
            index: 0,
            mode: 'all',
            satisfied: true,
            approvers_required: [{ selector: 'group:backend-team', min: 1, current: 1 }],
            approvals,
          },
          {
            index: 1,
            mode: 'any',
            satisfied: false,
            approvers_required: [{ selector: 'group:dba-team', min: 1, current: 0 }],
            approvals: [],
          },
        ],
      },
      context: {
        status: 'ready',
        tables: ['users'],
        sql_review: { findings: [] },
        risk: { level: 'Unknown', factors: [{ name: 'schema_not_synced' }] },
      },
      decision_trace: {
        version: 1,
        workflow: { matched: { id: 'wf:app:production:e3b0c44298fc' } },
        decision: { outcome: 'needs_approval', reasons: ['no_auto_approve_rule'], auto_approve_threshold: null },
      },
      ...more,
    },
  };
}

/** The text of an envelope that succeeded with `result_data`. */
export function envelope(resultData: string, more = ''): string {
  return `{"_svc_result":true,"execution_id":"${executionId}","success":true,"rows_affected":null,"truncated":false,"error_message":null,"result_data":${resultData}${more}}`;
}

/** The text of an envelope that failed; `ran` false leaves the execution id empty. */
export function failedEnvelope(message: string, ran = true): string {
  return `{"_svc_result":true,"execution_id":"${ran ? executionId : ''}","success":false,"rows_affected":null,"truncated":false,"error_message":${JSON.stringify(message)},"result_data":null}`;
}

export const twoRows = envelope(
  '{"columns":["id","name"],"column_types":["int8","text"],"rows":[{"id":9007199254740993,"name":"alice"},{"id":2,"name":null}],"truncated":false,"truncation_reason":null}',
);

export const paths = {
  create: 'POST /api/requests',
  list: 'GET /api/requests',
  show: `GET /api/requests/${requestId}`,
  stream: `GET /api/requests/${requestId}/result/stream`,
  content: `GET /api/requests/${requestId}/result/content`,
  resume: `POST /api/requests/${requestId}/resume`,
  approve: `POST /api/requests/${requestId}/approve`,
  reject: `POST /api/requests/${requestId}/reject`,
  cancel: `POST /api/requests/${requestId}/cancel`,
  executions: `GET /api/requests/${requestId}/executions`,
};

/** A server on which every statement runs at once and gives `text`. */
export function runsAtOnce(api: FakeApi, text: string): FakeApi {
  return api
    .on(paths.create, created('dispatched'))
    .on(paths.stream, { body: text })
    .on(paths.show, shown(text.includes('"success":true') ? 'executed' : 'failed'));
}

export function conflict(error: string, reason?: Reason) {
  return { status: 409, body: { error, code: 'request.conflict', hint: null, ...(reason && { reason }) } };
}
