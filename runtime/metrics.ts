import { Counter, Gauge, Histogram, Registry } from 'prom-client';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export type Metrics = ReturnType<typeof createMetrics>;

/** Every series of one process (OP-20). `scrape.ts` fills those whose values several processes share. */
export function createMetrics(version: string) {
  const registry = new Registry();
  const make = seriesOf(registry);
  make.gauge('svc_build_info', 'Version of this process', 'version').set({ version }, 1);
  return {
    registry,
    ...callSeries(make),
    ...requestSeries(make),
    ...platformSeries(make),
    ...mcpSeries(make),
    ...processSeries(registry),
  };
}

const callSeries = ({ counter, gauge, histogram }: Make) => ({
  httpRequests: counter('svc_http_requests_total', 'Answered calls', 'method', 'path', 'status'),
  httpDuration: histogram(
    'svc_http_request_duration_seconds',
    'Duration of calls without the waiting part of long polls',
    'method',
    'path',
  ),
  longPolls: gauge('svc_long_polls_current', 'Waiting calls', 'kind'),
  authFailures: counter('svc_auth_failures_total', 'Refused credentials', 'reason'),
  rateLimited: counter('svc_rate_limited_total', 'Calls refused by a limit', 'limit'),
});

const requestSeries = ({ counter, gauge, histogram }: Make) => ({
  requests: counter('svc_requests_total', 'Entries into a status', 'status', 'environment', 'database'),
  requestsCurrent: gauge('svc_requests_current', 'Requests that are not finished', 'status'),
  approvals: counter('svc_approvals_total', 'Decisions', 'action'),
  approvalWait: histogram('svc_approval_wait_seconds', 'From creation to final approval'),
  breakGlass: counter('svc_break_glass_total', 'Emergency creations'),
  breakGlassDdl: {
    attempted: counter('svc_break_glass_ddl_attempted_total', 'Creations with allow_ddl'),
    allowed: counter('svc_break_glass_ddl_allowed_total', 'Creations with allow_ddl that were accepted'),
    denied: counter('svc_break_glass_ddl_denied_total', 'Creations with allow_ddl that were refused'),
    auditFailure: counter('svc_break_glass_audit_failure_total', 'Creations with allow_ddl whose audit events were not written'),
  },
  executions: counter('svc_agent_executions_total', 'Ended executions', 'status'),
  executionDuration: histogram('svc_execution_duration_seconds', 'Duration of executions', 'database', 'environment'),
  leaseExpirations: counter('svc_agent_lease_expirations_total', 'Leases that ran out'),
  agentsActive: gauge('svc_agents_active', 'Agents seen in the last 60 s and not draining'),
  agentsSaturated: gauge('svc_agents_saturated', 'Active agents without a free place'),
  resultStorage: counter('svc_result_storage_total', 'Results by what became of them', 'status'),
});

const platformSeries = ({ counter, gauge }: Make) => ({
  auditUnsealed: gauge('svc_audit_unsealed_events', 'Audit events that are not in the chain yet'),
  auditAnchorsWaiting: gauge('svc_audit_anchors_waiting', 'Checkpoints of the audit log that the anchor has not taken yet'),
  auditWriteFailures: counter('svc_audit_write_failures_total', 'Audit events that could not be written'),
  backgroundPanics: counter('svc_background_panics_total', 'Unexpected errors of background work'),
  traceSpansDropped: counter('svc_trace_spans_dropped_total', 'Spans that no collector got', 'reason'),
  temporalErrors: counter('svc_temporal_errors_total', 'Failed calls to Temporal', 'operation'),
  workflowBacklog: gauge(
    'svc_workflow_backlog',
    'Requests, deliveries and Slack cards with news that no workflow has been told yet',
  ),
  workflowRepairs: counter('svc_workflow_repairs_total', 'Workflows that were started again'),
  webhookDeliveries: counter('svc_webhook_deliveries_total', 'Ends of attempts, and deliveries that were cancelled', 'status'),
  slackMessages: counter('svc_slack_messages_total', 'Messages to Slack by what became of them', 'outcome'),
  dbPool: gauge('svc_db_pool_connections', 'Connections of the pool', 'state'),
  configGeneration: gauge('svc_config_generation', 'Generation in force in this process'),
  planLimit: gauge('svc_plan_limit', 'What the plan allows, -1 = no limit', 'resource'),
  planUsage: gauge('svc_plan_usage', 'What of it is used', 'resource'),
  licenseExpires: gauge('svc_license_expires_timestamp_seconds', 'End of the licence, 0 = no key'),
  configReloads: counter('svc_config_reloads_total', 'Reloads', 'outcome'),
});

const mcpSeries = ({ counter, gauge }: Make) => ({
  mcpRequests: counter('svc_mcp_requests_total', 'Messages of MCP clients', 'method'),
  mcpErrors: counter('svc_mcp_errors_total', 'Errors of JSON-RPC that were sent', 'code'),
  mcpSessionsCreated: counter('svc_mcp_sessions_created_total', 'Sessions of MCP clients that were opened'),
  mcpStreams: counter('svc_mcp_sse_streams_total', 'Answers to MCP clients that were streams'),
  mcpCancels: counter('svc_mcp_cancel_total', 'Calls that an MCP client cancelled'),
  mcpElicitations: counter(
    'svc_mcp_elicitation_total',
    'Questions to the user of an MCP client, by what came of them',
    'outcome',
  ),
  mcpSessionsActive: gauge('svc_mcp_sessions_active', 'Sessions of MCP clients'),
  mcpStreamsActive: gauge('svc_mcp_sse_streams_active', 'Streams to MCP clients that have not ended'),
});

/** Under the names that Prometheus' own clients use; read at the scrape. */
const processSeries = (registry: Registry) => ({
  cpu: new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of this process',
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  }),
  memory: new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of this process',
    registers: [registry],
    collect() {
      this.set(process.memoryUsage.rss());
    },
  }),
});

type Make = ReturnType<typeof seriesOf>;

function seriesOf(registry: Registry) {
  const registers = [registry];
  return {
    counter: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Counter<L>({ name, help, labelNames, registers }),
    gauge: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Gauge<L>({ name, help, labelNames, registers }),
    histogram: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Histogram<L>({ name, help, labelNames, registers, buckets }),
  };
}
