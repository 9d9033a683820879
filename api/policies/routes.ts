import { z } from 'zod';
import { BUILTIN_REVIEW } from '../../config/shared.js';
import { notFound, type Resource } from '../../domain/errors.js';
import { OPERATIONS, type SharedConfig } from '../../domain/policies.js';
import type { Services } from '../context.js';
import { list as listOf, named, text } from '../http/fields.js';
import { pairName } from '../http/names.js';
import { textParam } from '../http/query.js';
import { type Call, type Route, route } from '../http/route.js';
import { visiblePolicies, withHistory } from './lists.js';
import { resolvePolicies } from './resolution.js';
import {
  executionPolicyItem,
  notificationPolicyItem,
  resolution,
  resultPolicyItem,
  reviewPolicyItem,
  workflowItem,
} from './schemas.js';
import { shownExecutionPolicy, shownNotificationPolicy, shownResultPolicy, shownReviewPolicy, shownWorkflow } from './shown.js';

/** A list of policies of `server.toml` and its items (preflight.md section 3). */
interface PolicyList<S extends z.ZodType> {
  path: `/api/${string}`;
  /** The member of the answer that holds the list. */
  key: string;
  operationIds: { list: string; show: string };
  /** Names an item in the error code and in the document. */
  resource: Resource;
  item: S;
  answer: z.ZodType;
  /** Only what the caller may see, in the order of the file. */
  visible(call: Call<unknown, unknown, unknown>, services: Services): z.input<S>[] | Promise<z.input<S>[]>;
}

/** The longest has two names of 63 characters and a digest. */
const maxIdLength = 160;

function listRoutes<S extends z.ZodType<unknown, { id: string }>>(list: PolicyList<S>): Route[] {
  const words = list.resource.replaceAll('_', ' ').replace('sql', 'SQL');
  const shared = { method: 'get', tag: 'configuration', access: 'workflow.read', status: 200 } as const;
  return [
    route({
      ...shared,
      operationId: list.operationIds.list,
      path: list.path,
      summary: `List every ${words} that can apply to a database of yours`,
      description: 'In the order of `server.toml`.',
      response: list.answer,
      errors: ['auth.forbidden'],
      handle: async (call, services) => ({ [list.key]: await list.visible(call, services) }),
    }),
    route({
      ...shared,
      operationId: list.operationIds.show,
      path: `${list.path}/:id`,
      summary: `Show one ${words}`,
      params: z.object({ id: text(`The id of the ${words}.`, { maxLength: maxIdLength }) }),
      response: list.item,
      errors: ['auth.forbidden', `${list.resource}.not_found`],
      handle: async (call, services) => {
        const found = (await list.visible(call, services)).find(({ id }) => id === call.params.id);
        if (found === undefined) throw notFound(list.resource);
        return found;
      },
    }),
  ];
}

/** Items of one section that the caller may see (PO-10). */
function ofFile<
  K extends 'workflows' | 'executionPolicies' | 'resultPolicies' | 'notificationPolicies',
  Item extends { id: string },
>(section: K, show: (policy: SharedConfig[K][number]) => Item) {
  return ({ caller, generation }: Call<unknown, unknown, unknown>, services: Services) => {
    const policies: readonly SharedConfig[K][number][] = generation.shared[section];
    return withHistory(services, generation, { list: section, policies: visiblePolicies(caller, policies), show });
  };
}

/** Effective policies of a pair, and the lists that they come from (preflight.md sections 2 and 3). */
export const policyRoutes: Route[] = [
  route({
    operationId: 'resolvePolicies',
    method: 'get',
    path: '/api/policy-resolution',
    summary: 'Tell which policies a request would meet now',
    tag: 'configuration',
    access: 'request.view',
    query: z.object({
      database: pairName('The name of the database.'),
      environment: pairName('The environment of the database.'),
      operation: textParam('The operation; all of them if absent.', { enum: OPERATIONS }),
    }),
    status: 200,
    response: resolution,
    errors: ['validation.failed', 'auth.forbidden'],
    handle: resolvePolicies,
  }),
  ...listRoutes({
    path: '/api/workflows',
    key: 'workflows',
    operationIds: { list: 'listWorkflows', show: 'showWorkflow' },
    resource: 'workflow',
    item: workflowItem,
    answer: named('WorkflowList', 'Workflow policies.', {
      workflows: listOf(workflowItem, 'The policies, in the order of `server.toml`.'),
    }),
    visible: ofFile('workflows', shownWorkflow),
  }),
  ...listRoutes({
    path: '/api/execution-policies',
    key: 'execution_policies',
    operationIds: { list: 'listExecutionPolicies', show: 'showExecutionPolicy' },
    resource: 'execution_policy',
    item: executionPolicyItem,
    answer: named('ExecutionPolicyList', 'Execution policies.', {
      execution_policies: listOf(executionPolicyItem, 'The policies, in the order of `server.toml`.'),
    }),
    visible: ofFile('executionPolicies', shownExecutionPolicy),
  }),
  ...listRoutes({
    path: '/api/result-policies',
    key: 'result_policies',
    operationIds: { list: 'listResultPolicies', show: 'showResultPolicy' },
    resource: 'result_policy',
    item: resultPolicyItem,
    answer: named('ResultPolicyList', 'Result policies.', {
      result_policies: listOf(resultPolicyItem, 'The policies, in the order of `server.toml`.'),
    }),
    visible: ofFile('resultPolicies', shownResultPolicy),
  }),
  ...listRoutes({
    path: '/api/notification-policies',
    key: 'notification_policies',
    operationIds: { list: 'listNotificationPolicies', show: 'showNotificationPolicy' },
    resource: 'notification_policy',
    item: notificationPolicyItem,
    answer: named('NotificationPolicyList', 'Notification policies.', {
      notification_policies: listOf(notificationPolicyItem, 'The policies, in the order of `server.toml`.'),
    }),
    visible: ofFile('notificationPolicies', shownNotificationPolicy),
  }),
  ...listRoutes({
    path: '/api/sql-review-policies',
    key: 'sql_review_policies',
    operationIds: { list: 'listSqlReviewPolicies', show: 'showSqlReviewPolicy' },
    resource: 'sql_review_policy',
    item: reviewPolicyItem,
    answer: named('SqlReviewPolicyList', 'SQL review policies.', {
      sql_review_policies: listOf(reviewPolicyItem, 'The policies, in the order of `server.toml`.'),
    }),
    visible: ({ caller, generation }, services) => {
      const { shared } = generation;
      const isReplaced = shared.sqlReview.some(({ database, environment }) => database === '*' && environment === '*');
      const policies = isReplaced ? shared.sqlReview : [...shared.sqlReview, BUILTIN_REVIEW];
      return withHistory(services, generation, {
        list: 'sqlReview',
        policies: visiblePolicies(caller, policies),
        show: shownReviewPolicy,
      });
    },
  }),
];
