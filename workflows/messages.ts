import type { Status } from '../domain/request/types.js';
import type { Signal } from '../domain/request/verdict.js';
import type { ClockKind, View } from '../domain/request/view.js';

/** Names and shapes that the workflow shares with its senders and readers. Nothing here runs workflow code. */
export const requestWorkflow = 'request';
export const stateQuery = 'state';
export const requestSignals = [
  'approval',
  'rejection',
  'cancellation',
  'resumption',
  'completion',
  'change',
] as const satisfies readonly Signal[];

/** One workflow id per request, reused after each final status by a new run. */
export const requestWorkflowId = (id: string) => `request-${id}`;

/** The id of the request that a workflow follows; null for another workflow's id. */
export const requestOfWorkflow = (workflowId: string): string | null =>
  /^request-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(workflowId)?.[1] ?? null;

/** Keyword attributes by which operators find workflows in the Temporal UI. The workflow itself keeps the last two. */
export const searchAttributes = [
  'SvcDatabase',
  'SvcEnvironment',
  'SvcOperation',
  'SvcRisk',
  'SvcRequester',
  'SvcStatus',
  'SvcTurn',
] as const;

/** Visibility on PostgreSQL stores 255 characters of a keyword. */
export const keywordOf = (text: string) => text.slice(0, 255);

/** What a run starts with. A view that is not final may be outdated. */
export interface RequestInput {
  id: string;
  view: View | null;
}

/** What was committed. It decides nothing. No view means "read the stored state again". */
export interface RequestNews {
  who: string;
  step: number | null;
  view: View | null;
}

/** The stored state as the step found it. An id that is not stored (purged, foreign) is final. */
export type KnownView = Omit<View, 'status'> & { status: Status | 'not_stored' };

/** Makes the clock's move once its instant is reached, or only reads (null). Never refuses; throws on trouble with the database. */
export interface StepActivities {
  step(id: string, clock: ClockKind | null): Promise<KnownView>;
}

/** The answer to the `state` query (OP-74). Null before the stored state was read; `clock` is the instant that the running timer waits for. */
export interface RequestState {
  stored: { version: number; status: string; deadline: string | null } | null;
  clock: string | null;
}

/** A delivery of one event to one webhook. */
export const deliveryWorkflow = 'delivery';
/** The stored delivery has changed: it was cancelled, or is to be sent now. */
export const deliveryChanged = 'change';

export const deliveryWorkflowId = (id: string) => `delivery-${id}`;

export interface DeliveryInput {
  id: string;
}

/**
 * Makes the next attempt if it is due, and returns the status that ends the delivery. Throws what Temporal should wait for: the time of the next attempt, with
 * the reason in words.
 */
export interface DeliverActivities {
  deliver(id: string): Promise<string>;
}

/** The messages of one card in Slack. */
export const slackCardWorkflow = 'slackCard';
/** The stored card has changed, or is to be looked at now. */
export const slackCardChanged = 'change';

export const slackCardWorkflowId = (id: string) => `slack-card-${id}`;

export interface SlackCardInput {
  id: string;
}

/**
 * Posts or updates the card and then says the lines of its thread, as far as they are due. Throws what Temporal should wait for: the time of the next attempt,
 * with the reason in words.
 */
export interface SlackCardActivities {
  postCard(id: string): Promise<void>;
}

export const anchorWorkflow = 'auditAnchor';
/** One workflow id per checkpoint that is the oldest waiting one when it is started. Gateways that share a namespace differ in their task queue. */
export const anchorWorkflowId = (taskQueue: string, oldest: number) => `audit-anchor-${taskQueue}-${oldest}`;

/** The `seq` of the oldest checkpoint that waits for its anchor. */
export interface AnchorInput {
  oldest: number;
}

/** Gives the newest waiting checkpoint to the anchor and answers its `seq`; null if `oldest` waits no more. Throws if the anchor did not take it. */
export interface AnchorActivities {
  giveToAnchor(oldest: number): Promise<number | null>;
}

/** Somebody in Slack who asked for an account. */
export const onboardingWorkflow = 'onboarding';
/** The stored onboarding has ended, or is to be looked at again. */
export const onboardingChanged = 'change';

export const onboardingWorkflowId = (id: string) => `slack-onboarding-${id}`;

export interface OnboardingInput {
  id: string;
}

/** Expires the onboarding if it is due. Answers its status, and the milliseconds until it is due; null once it has ended. Throws on trouble with the database. */
export interface OnboardingActivities {
  expireOnboarding(id: string): Promise<{ status: string; inMs: number | null }>;
}
