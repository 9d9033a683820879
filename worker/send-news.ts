import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { News, TakenNews } from '../db/outbox.js';
import {
  keywordOf,
  type RequestInput,
  type RequestNews,
  requestWorkflow,
  requestWorkflowId,
  type searchAttributes,
} from '../workflows/messages.js';

type About = NonNullable<TakenNews['about']>;

/** Where the news of one request goes. */
export interface Addressee {
  requestId: string;
  about: TakenNews['about'];
  taskQueue: string;
  searchable: boolean;
}

/**
 * Starts the request's workflow with the view in the news. Eager: the server hands the first task to the worker on the same connection.
 * Rejects with WorkflowExecutionAlreadyStartedError if one is running.
 */
export async function startWorkflow(client: Client, to: Addressee, news: Pick<News, 'view'>): Promise<void> {
  await client.workflow.start(requestWorkflow, {
    ...workflowOptions(to, { id: to.requestId, view: news.view }),
    workflowIdConflictPolicy: 'FAIL',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    requestEagerStart: true,
  });
}

/**
 * Signals the running workflow, or starts a run if there is none. The new run gets no view: late news of an ended workflow could be long
 * outdated, so it reads the stored state first.
 */
export async function signalWorkflow(
  client: Client,
  to: Addressee,
  news: Pick<News, 'signal' | 'actor' | 'step' | 'view'>,
): Promise<void> {
  await client.workflow.signalWithStart(requestWorkflow, {
    ...workflowOptions(to, { id: to.requestId, view: null }),
    signal: news.signal,
    signalArgs: [payload(news)],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
}

/** Signals only a running workflow. If a clock ended the request, no new run is needed to learn that: the run that made the move knows it. */
export async function signalIfRunning(
  client: Client,
  to: Addressee,
  news: Pick<News, 'signal' | 'actor' | 'step' | 'view'>,
): Promise<void> {
  await client.workflow
    .getHandle(requestWorkflowId(to.requestId))
    .signal(news.signal, payload(news))
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}

/** Terminates any run of the request and starts a workflow that reads the stored state (OP-73). */
export async function replaceWorkflow(client: Client, to: Addressee): Promise<void> {
  await client.workflow.start(requestWorkflow, {
    ...workflowOptions(to, { id: to.requestId, view: null }),
    workflowIdConflictPolicy: 'TERMINATE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
}

export const isAlreadyStarted = (error: unknown) => error instanceof WorkflowExecutionAlreadyStartedError;

const payload = ({ actor, step, view }: Pick<News, 'actor' | 'step' | 'view'>): RequestNews => ({ who: actor, step, view });

function workflowOptions({ requestId, about, taskQueue, searchable }: Addressee, input: RequestInput) {
  return {
    workflowId: requestWorkflowId(requestId),
    taskQueue,
    args: [input],
    ...(about === null ? {} : { staticSummary: summary(about) }),
    ...(about === null || !searchable ? {} : { typedSearchAttributes: attributes(about, input.view) }),
  };
}

/** The server refuses summaries above 400 bytes; 130 characters of three bytes fit. */
const summary = ({ statementType, database, environment, requester }: About) =>
  `${statementType} on ${database}/${environment} by ${requester}`.slice(0, 130);

/** A run that has status and turn from its start keeps them itself; the stored state may not be known yet. */
function attributes({ database, environment, operation, risk, requester }: About, view: RequestInput['view']) {
  const values: Record<(typeof searchAttributes)[number], string> = {
    SvcDatabase: database,
    SvcEnvironment: environment,
    SvcOperation: operation,
    SvcRisk: risk,
    SvcRequester: requester,
    SvcStatus: view?.status ?? 'unknown',
    SvcTurn: view?.turn ?? 'unknown',
  };
  return Object.entries(values).map(([name, value]) => ({
    key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
    value: keywordOf(value),
  }));
}
