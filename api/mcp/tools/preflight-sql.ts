import { preflightResponse } from '../../preflight/schemas.js';
import { ask } from '../ask.js';
import { databaseOf, environmentOf, type Tool, text, textArgument } from './tool.js';

export const preflightSql: Tool = {
  name: 'svc_preflight_sql',
  description:
    'Check SQL without making a request: what it does, its risk, the review findings, whether it would run without approval or who must approve, and its plan. Nothing runs. Use it before svc_execute_query ' +
    'for every write. status "blocked" means that it would be refused; fix_hints say what to change.',
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  inputSchema: {
    type: 'object',
    properties: {
      sql: { type: 'string', minLength: 1 },
      database: text,
      environment: text,
      include_explain: { type: 'boolean', default: true, description: 'also ask an agent for the plan; takes a few seconds' },
    },
    required: ['sql'],
  },
  outputSchema: {
    type: 'object',
    properties: { status: { enum: ['requestable', 'blocked', 'warning'] }, risk: text },
    required: ['status'],
    description: 'the preflight response',
  },
  async run(context, args) {
    const body = {
      database: databaseOf(context, args),
      environment: environmentOf(context, args),
      sql: textArgument(args, 'sql'),
      include_explain: args.include_explain !== false,
    };
    return { structured: await ask(context, 'preflight', { body }, preflightResponse) };
  },
};
