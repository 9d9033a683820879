import { objectOf } from '../audit/checkpoint.js';
import type { SealedEvent } from '../audit/event.js';
import type { Evidence } from './document.js';

/** What the evidence states, told for a person: who asked what, who agreed, what ran when, how it ended. */
export interface Story {
  title: string;
  /** The text that was asked for; null where the document holds only its hash. */
  text: string | null;
  events: { at: string; told: string }[];
  results: string[];
}

export function storyOf({ request, content, policy, events, attempts }: Evidence): Story {
  const { id, operation, database, environment, status } = request;
  return {
    title: `request ${id}: ${operation} on ${database}/${environment} by ${request.requester}, ${status}`,
    text: content.detail,
    events: events.map(({ event }) => ({ at: event.created_at, told: told(event) })),
    results: [
      policy.workflow === null
        ? 'no workflow policy'
        : `workflow policy ${String(objectOf(policy.workflow).id)}, generation ${policy.generation}`,
      ...attempts.flatMap(({ fence, result }) =>
        result === null ? [] : [`attempt ${fence} kept a result of ${result.bytes} bytes, SHA-256 ${result.sha256}`],
      ),
    ],
  };
}

/** An event in one sentence. */
function told(event: SealedEvent): string {
  const metadata = objectOf(event.metadata_json);
  const words = sentences[event.event_type]?.(event.actor_id, metadata) ?? `${event.actor_id}: ${event.event_type}`;
  const said = event.reason ?? metadata.approval_comment;
  return typeof said === 'string' && said !== '' ? `${words}: “${said}”` : words;
}

type Sentence = (actor: string, metadata: Readonly<Record<string, unknown>>) => string;

const sentences: Readonly<Record<string, Sentence>> = {
  'request.created': (actor) => `${actor} asked`,
  'request.auto_approved': (actor) => `${actor} asked, and the policy lets it pass without approval`,
  'request.break_glass': (actor) => `${actor} asked, as an emergency without approval`,
  'ddl.break_glass_bypass': () => 'the review of its SQL was bypassed',
  'step.approved': (actor, { matched_selector, step_number, total_steps }) =>
    `${actor} agreed as ${matched_selector} (step ${step_number} of ${total_steps})`,
  'request.approved': (actor, { matched_selector }) => `${actor} agreed as ${matched_selector}, the last approval`,
  'request.rejected': (actor, { matched_selector }) => `${actor} rejected it as ${matched_selector}`,
  'request.cancelled': (actor) => `${actor} cancelled it`,
  'request.expired': (_, { phase }) => `its time ran out (${phase})`,
  'request.dispatched': (actor, { fence }) => `${actor} had it run, attempt ${fence}`,
  'request.dispatch_timeout': () => 'no agent came for it in time',
  'request.integrity_failed': () => 'its stored content had been changed outside the gateway',
  'execution.started': (_, { agent_id, fence }) => `agent ${agent_id} began attempt ${fence}`,
  'execution.completed': (_, { fence, outcome, rows_affected: rows, duration_ms: ms }) =>
    `attempt ${fence} ended: ${outcome}${rows === undefined ? '' : `, ${rows} ${Number(rows) === 1 ? 'row' : 'rows'}`}${ms === undefined ? '' : `, ${ms} ms`}`,
  'execution.failed': (_, { fence, outcome, error_class }) =>
    `attempt ${fence} failed: ${outcome}${error_class === '' ? '' : `, ${error_class}`}`,
  'execution.cancelled': (_, { fence, outcome }) => `attempt ${fence} was cancelled: ${outcome}`,
  'execution.lost': (_, { fence, cause }) => `attempt ${fence} was lost (${cause})`,
  'execution.late_result': (_, { fence, outcome }) => `a late result of attempt ${fence} came: ${outcome}`,
  'execution.marker_mismatch': (_, { fence }) => `attempt ${fence} found markers that fit no attempt`,
};
